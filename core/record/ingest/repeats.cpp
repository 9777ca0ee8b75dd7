#include "core/record/ingest/repeats.h"

#include <algorithm>
#include <bit>

#include "core/record/ingest/notes.h"

namespace orch::ingest {
namespace {

constexpr std::int64_t kLag = 2;  // steps by which ranks without labels may lag

}  // namespace

StepTimes::Kept shape_of(const Values& values, double seconds) {
  if (!values.has(Target::loss)) return {seconds, 0};
  const auto bits = std::bit_cast<std::uint64_t>(values.number(Target::loss));
  return {seconds, static_cast<std::uint32_t>(bits >> 32 ^ bits) | 1};
}

bool is_copy(Run& run, std::int64_t step, const StepTimes::Kept& shape) {
  const bool lags = !run.resume_waits && step >= run.last_step - kLag;
  const auto before = run.times.kept(step);
  if (!before) return run.copying || lags;
  if (*before != shape) return lags;
  // Times alone may be alike by chance, and so may all be where a checkpoint was loaded for it.
  const bool loaded = run.resumed_after >= 0 && run.resumed_after + 1 == step;
  const bool again = run.resume_waits && !run.copying && step > run.first_step;
  if (again && (loaded || shape.mark == 0)) return false;
  run.copying = run.copying || step < run.last_step;
  return true;
}

bool tells_again(const Run& run, const Values& values) {
  if (!values.has(Target::step)) {
    const auto first = run.losses.first();
    return first && first->loss == values.number_or(Target::loss, 0);
  }
  const auto before = run.times.kept(to_step(values.number(Target::step)));
  return before && *before == shape_of(values, pace_of(values).seconds);
}

bool begins_anew(const Run& run, std::int64_t resumed_after, std::int64_t step) {
  if (resumed_after > 0 || step > run.first_step) return false;
  const auto& steps = run.times.steps();
  const auto apart = steps.size() < 2 ? run.first_step : steps[1].step - steps[0].step;
  return run.first_step <= std::max<std::int64_t>(1, apart);
}

bool begins_anew(const Run& start) {
  const auto planned = start.settings.whole(Target::steps_planned);
  if (!planned || start.resumed_after > 0) return false;
  return std::none_of(start.bars.begin(), start.bars.end(), [&](const Bar& bar) {
    return bar.total == *planned && bar.moves > 0 && bar.first > 1;
  });
}

bool has_other_settings(const Run& run, const Values& values, std::int64_t step) {
  const auto planned = run.settings.number(Target::steps_planned);
  if (planned && values.has(Target::steps_planned) &&
      *planned != values.number(Target::steps_planned))
    return true;
  return values.has(Target::gbs) && run.first_batch > 0 && step <= run.first_step &&
         values.number(Target::gbs) != run.first_batch;
}

}  // namespace orch::ingest
