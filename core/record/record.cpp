#include "core/record/record.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <unordered_map>

#include "core/base/text.h"
#include "core/base/units.h"
#include "core/plan/strategy.h"
#include "core/plan/vocabulary.h"
#include "core/record/thinned.h"

namespace orch::record {

std::string text(const plan::Value& value) {
  if (const auto* real = std::get_if<double>(&value)) return fmt::format("{:.6g}", *real);
  return plan::is_given(value) ? plan::plain(value) : std::string();
}

const std::vector<std::string>& field_names() {
  static const auto kNames = [] {
    std::vector<std::string> names;
    for (const auto& term : plan::vocabulary())
      if (!term.planned) names.emplace_back(term.name);
    return names;
  }();
  return kNames;
}

std::vector<std::string> field_names(const std::vector<const Record*>& records) {
  auto names = field_names();
  std::set<std::string> known(names.begin(), names.end());
  for (const auto* record : records)
    for (const auto& field : record->fields)
      if (known.insert(field.name).second) names.push_back(field.name);
  return names;
}

statistics::StepTimes Measurement::take(const std::vector<statistics::TimedStep>& steps_timed) {
  constexpr std::size_t kMostTimes = 400;  // number of points kept
  auto times = statistics::step_times(steps_timed);
  step_seconds = times.seconds;
  window = times.window;
  odd_steps = times.odd;
  odd_step_count = times.odd_count;
  for (const auto& step : steps_timed) step_times.push_back({step.step, step.seconds});
  step_times = thinned(step_times, &StepPoint::value, kMostTimes);
  return times;
}

const plan::Value* Record::field(std::string_view name) const {
  for (const auto& held : fields)
    if (held.name == name) return &held.value;
  return nullptr;
}

std::string Record::field_text(std::string_view name) const {
  const auto* held = field(name);
  return held != nullptr ? text(*held) : std::string();
}

std::optional<double> Record::field_number(std::string_view name) const {
  const auto* held = field(name);
  return held != nullptr ? plan::number(*held) : std::nullopt;
}

std::optional<std::int64_t> Record::whole(std::string_view name) const {
  const auto* held = std::get_if<std::int64_t>(field(name));
  return held != nullptr ? std::optional(*held) : std::nullopt;
}

std::optional<bool> Record::flag(std::string_view name) const {
  const auto* held = std::get_if<bool>(field(name));
  return held != nullptr ? std::optional(*held) : std::nullopt;
}

namespace {

std::size_t place_of(std::string_view name) {
  static const auto kPlaces = [] {
    std::unordered_map<std::string_view, std::size_t> places;
    for (const auto& known : field_names()) places.emplace(known, places.size());
    return places;
  }();
  const auto found = kPlaces.find(name);
  return found == kPlaces.end() ? kPlaces.size() : found->second;
}

}  // namespace

void Record::set(std::string_view name, plan::Value value, bool assumed) {
  if (!plan::is_given(value)) {
    std::erase_if(fields, [&](const RecordField& held) { return held.name == name; });
    return;
  }
  for (auto& held : fields)
    if (held.name == name) {
      held.value = std::move(value);
      held.assumed = assumed;
      return;
    }
  const auto comes_before = [](std::size_t place, const RecordField& held) {
    return place < place_of(held.name);
  };
  const auto after = std::upper_bound(fields.begin(), fields.end(), place_of(name), comes_before);
  fields.insert(after, RecordField{std::string(name), std::move(value), assumed});
}

bool Record::has_measurement() const {
  return measured.step_seconds || measured.tokens_per_second || measured.days_per_100b_tokens ||
         !measured.tflops.empty() || measured.peak_memory_bytes || measured.last_loss;
}

namespace {

std::int64_t last_finite(const Measurement& measured) {
  return measured.losses.empty() ? 0 : measured.losses.back().step;
}

// How many steps apart losses are printed.
std::int64_t interval(const Measurement& measured) {
  const auto& losses = measured.losses;
  return losses.size() < 2 ? 1 : losses.back().step - losses[losses.size() - 2].step;
}

}  // namespace

bool lost_loss(const Measurement& measured) {
  const auto missing = measured.steps - last_finite(measured);
  return measured.nan_steps > 0 && missing > 0 && missing >= interval(measured);
}

std::string nan_text(const Measurement& measured) {
  if (measured.nan_steps <= 0) return "";
  auto out = fmt::format("NaN in {}", measured.nan_steps);
  const auto all = std::max(measured.steps, measured.nan_steps);
  if (all > measured.nan_steps) out += fmt::format(" of {}", all);
  out += all == 1 ? " step" : " steps";
  if (!lost_loss(measured)) return out;
  const auto last = last_finite(measured);
  if (measured.nan_steps == measured.steps - last)
    return out + fmt::format(", from step {} on", last + 1);
  return out + fmt::format(", and no number after step {}", last);
}

std::optional<double> goodput(const Measurement& measured) {
  if (measured.spent.empty()) return std::nullopt;
  const auto& computing = measured.spent.front();
  const auto& all = measured.spent.back();
  if (computing.kind != "computing" || !(all.amount > 0)) return std::nullopt;
  return computing.amount / all.amount;
}

std::string goodput_text(const Measurement& measured) {
  const auto share = goodput(measured);
  if (!share) return "";
  const double all = measured.spent.back().amount;
  std::vector<std::string> lost;
  for (std::size_t i = 1; i + 1 < measured.spent.size(); ++i)
    lost.push_back(
        fmt::format("{} {:.1f} %", measured.spent[i].name, 100 * measured.spent[i].amount / all));
  return fmt::format("{:.1f} % of {} since the first start; lost: {}", 100 * *share,
                     format_seconds(all), join(lost, ", "));
}

}  // namespace orch::record
