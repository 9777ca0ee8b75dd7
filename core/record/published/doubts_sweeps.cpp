#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "core/record/published/conventions.h"
#include "core/record/published/doubts_checks.h"

namespace orch::published {
namespace {

using record::Record;

constexpr double kNoise = 0.02;       // of two step times on one machine
constexpr double kMoreSamples = 1.2;  // fewer are lost in the noise
constexpr double kSlower = 1.1;       // with another micro-batch
constexpr double kJump = 1.3;         // where a micro-batch doubles

// A row that has a step time.
struct Timed {
  std::size_t row = 0;
  double seconds = 0;
  double samples = 0;  // of a step
  std::int64_t micro_batch = 0;
};

std::vector<Timed> timed(const Inquiry& inquiry, const std::vector<std::size_t>& set) {
  std::vector<Timed> out;
  for (const auto i : set) {
    const auto& row = inquiry.rows[i];
    const auto seconds = step_seconds(row);
    const auto micro_batch = row.whole("micro_batch");
    if (seconds && micro_batch) out.push_back({i, *seconds, *batch_of(row), *micro_batch});
  }
  return out;
}

// What a sample surely costs: with recomputation only where it is said.
std::optional<double> sample_flops(const Record& row) {
  std::optional<double> least;
  const auto said = row.field_text("recompute");
  for (const auto& way : conventions(row)) {
    if (way.recompute != (said == "true" || said == "full")) continue;
    if (!least || way.flops < *least) least = way.flops;
  }
  return least;
}

// The samples that the larger batch has more, in the time that it took more: TFLOPs per GPU, if
// they are above the peak.
std::optional<double> impossible_rate(const Inquiry& inquiry, const Timed& small,
                                      const Timed& large, double more_seconds) {
  const auto& row = inquiry.rows[large.row];
  const auto flops = sample_flops(row);
  const auto& gpu = inquiry.gpus[large.row];
  if (!flops || !gpu || gpu->peak_tflops <= 0) return std::nullopt;
  const double rate =
      (large.samples - small.samples) * *flops / more_seconds / *row.field_number("gpus") / 1e12;
  return rate > gpu->peak_tflops ? std::optional(rate) : std::nullopt;
}

// Why the smaller batch cannot have taken so long, beside the larger one; "" if it can.
std::string too_slow(const Inquiry& inquiry, const Timed& small, const Timed& large) {
  if (large.samples < kMoreSamples * small.samples) return "";
  if (small.micro_batch > large.micro_batch || 2 * small.micro_batch < large.micro_batch) return "";
  const bool other_micro_batch = small.micro_batch != large.micro_batch;
  if (other_micro_batch && small.seconds < kSlower * large.seconds) return "";
  auto words =
      fmt::format("a batch of {:.0f} takes {:.5g} s, one of {:.0f} {:.5g} s ({})", small.samples,
                  small.seconds, large.samples, large.seconds, inquiry.name(large.row));
  const double more = large.seconds - (1 - kNoise) * small.seconds;
  if (other_micro_batch || more <= 0) return words;
  const auto rate = impossible_rate(inquiry, small, large, more);
  if (!rate) return "";
  return words + fmt::format(
                     ": the {:.0f} samples more would run at {:.0f} TFLOPs per GPU, above "
                     "the peak of {:g}",
                     large.samples - small.samples, *rate, inquiry.gpus[large.row]->peak_tflops);
}

void doubt_smaller_batch(Inquiry& inquiry, const std::vector<Timed>& set, const Timed& small) {
  for (const auto& large : set) {
    const auto why = too_slow(inquiry, small, large);
    if (why.empty()) continue;
    inquiry.add(small.row, "scaling", "step_seconds, global_batch", why);
    return;  // one witness is enough
  }
}

// The fastest of each micro-batch.
std::map<std::int64_t, Timed> by_micro_batch(const std::vector<Timed>& set) {
  std::map<std::int64_t, Timed> out;
  for (const auto& row : set) {
    const auto [best, added] = out.try_emplace(row.micro_batch, row);
    if (!added && row.seconds < best->second.seconds) best->second = row;
  }
  return out;
}

// What a micro-batch costs besides its samples makes a step A + B / micro-batch long. So doubling
// it twice saves at first twice as much as then.
void doubt_micro_batch(Inquiry& inquiry, const Timed& one, const Timed& two, const Timed& four) {
  const double first = one.seconds - two.seconds, second = two.seconds - four.seconds;
  if (one.seconds < kJump * two.seconds || first < 4 * std::max(0.0, second)) return;
  inquiry.add(
      one.row, "scaling", "step_seconds, micro_batch",
      fmt::format("micro-batch {} takes {:.5g} s, {} takes {:.5g} s ({}) and {} {:.5g} s "
                  "({}): that is no cost per micro-batch",
                  one.micro_batch, one.seconds, two.micro_batch, two.seconds, inquiry.name(two.row),
                  four.micro_batch, four.seconds, inquiry.name(four.row)));
}

}  // namespace

void doubt_batches(Inquiry& inquiry) {
  for (const auto& all : alike(inquiry, kBatch)) {
    const auto set = timed(inquiry, all);
    for (const auto& row : set) doubt_smaller_batch(inquiry, set, row);
  }
  for (const auto& all : alike(inquiry, {"mbs", "gas", "pp_chunks", "grad_accum"})) {
    const auto set = timed(inquiry, all);
    const auto best = by_micro_batch(set);
    for (const auto& row : set) {
      const auto two = best.find(2 * row.micro_batch), four = best.find(4 * row.micro_batch);
      if (two != best.end() && four != best.end())
        doubt_micro_batch(inquiry, row, two->second, four->second);
    }
  }
}

}  // namespace orch::published
