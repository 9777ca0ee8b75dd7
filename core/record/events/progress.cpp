#include <algorithm>
#include <utility>
#include <vector>

#include "core/record/events/collect.h"
#include "core/record/events/event_line.h"
#include "core/record/events/window.h"
#include "core/record/statistics/interval.h"

namespace orch::events {
namespace {

constexpr std::int64_t kUsual = 32 << 10;  // some hundred steps: enough for a median
constexpr std::int64_t kMost = 4 << 20;    // where few of the last lines are steps
constexpr std::size_t kFew = 16;
constexpr std::size_t kWarmUp = 3;

struct Seen {
  std::vector<Event> steps;
  std::optional<Event> end;
  std::optional<Event> evaluation;  // the last one
  bool from_start = false;          // whether the first of the steps is that of the attempt
};

template <class Visit>
void each_line(std::string_view text, Visit&& visit) {
  while (!text.empty()) {
    const auto length = text.find('\n');
    visit(text.substr(0, length));
    if (length == std::string_view::npos) return;
    text.remove_prefix(length + 1);
  }
}

Seen read_end(const Window& file, std::int64_t bytes) {
  Seen seen;
  const auto from = std::max<std::int64_t>(0, file.size() - bytes);
  const auto text = file.read(from, std::min(bytes, file.size()));
  seen.from_start = from == 0;
  std::string_view lines = text;
  // The first line is cut somewhere.
  if (from > 0) lines.remove_prefix(std::min(lines.find('\n'), lines.size() - 1) + 1);
  each_line(lines, [&](std::string_view line) {
    auto event = parse_event(line);
    if (!event || !event->step) return;
    const auto name = std::exchange(event->name, {});  // the line does not last
    if (name == "step")
      seen.steps.push_back(*event);
    else if (name == "end")
      seen.end = *event;
    else if (name == "evaluation")
      seen.evaluation = *event;
  });
  return seen;
}

std::optional<double> median(const std::vector<double>& values) {
  return values.empty() ? std::nullopt : std::optional(statistics::median(values));
}

// From one line to the next, if both tell and it grew; else nothing.
double growth(const std::optional<double>& from, const std::optional<double>& to) {
  return from && to && *to > *from ? *to - *from : 0;
}

struct Rates {
  std::vector<double> step_seconds;
  std::vector<double> tokens_per_second;
  std::vector<double> communicated;  // bytes of a step
  std::vector<double> bubble;
};

void add_rates(const Event& event, const Event* before, Rates& rates) {
  const double elapsed = before ? growth(before->time, event.time) : 0;
  const double trained = before ? growth(before->tokens, event.tokens) : 0;
  const auto steps = before ? *event.step - *before->step : 0;
  if (event.step_seconds && *event.step_seconds > 0)
    rates.step_seconds.push_back(*event.step_seconds);
  else if (elapsed > 0 && steps > 0)
    rates.step_seconds.push_back(elapsed / static_cast<double>(steps));
  if (event.tokens_per_second && *event.tokens_per_second > 0)
    rates.tokens_per_second.push_back(*event.tokens_per_second);
  else if (elapsed > 0 && trained > 0)
    rates.tokens_per_second.push_back(trained / elapsed);
  if (event.bubble) rates.bubble.push_back(*event.bubble);
  // The count begins with the attempt.
  if (event.communicated && before && before->communicated && steps > 0)
    rates.communicated.push_back(std::max(0.0, *event.communicated - *before->communicated) /
                                 static_cast<double>(steps));
  else if (event.communicated && *event.step == 1)
    rates.communicated.push_back(*event.communicated);
}

Rates rates_of(const Seen& seen) {
  const bool warm = !seen.from_start || seen.steps.size() <= 2 * kWarmUp;
  Rates rates;
  for (std::size_t i = warm ? 0 : kWarmUp; i < seen.steps.size(); ++i)
    add_rates(seen.steps[i], i > 0 ? &seen.steps[i - 1] : nullptr, rates);
  return rates;
}

}  // namespace

std::optional<record::Progress> read_progress(const fs::path& attempt_folder, double now) {
  const Window file(attempt_folder / "events.jsonl");
  if (!file.is_open() || file.size() == 0) return std::nullopt;
  auto seen = read_end(file, kUsual);
  if (seen.steps.size() < kFew && !seen.from_start) seen = read_end(file, kMost);
  if (seen.steps.empty()) return std::nullopt;

  record::Progress progress;
  auto& measured = progress.measured;
  const auto& last = seen.steps.back();
  measured.steps = seen.end ? std::max(*last.step, *seen.end->step) : *last.step;
  progress.age = std::max(0.0, now - file.modified());
  measured.last_loss = last.loss;
  const auto rates = rates_of(seen);
  if (const auto seconds = median(rates.step_seconds))
    measured.step_seconds = statistics::Interval{*seconds, {}, {}, 1};
  measured.tokens_per_second = median(rates.tokens_per_second);
  const auto state = [&](const char* name, const std::optional<double>& value) {
    if (value) measured.stated.emplace(name, *value);
  };
  state("gradient_norm", last.gradient_norm);
  state("learning_rate", last.learning_rate);
  if (seen.evaluation) state("evaluation_loss", seen.evaluation->loss);
  state("communicated_bytes", median(rates.communicated));
  state("bubble", median(rates.bubble));
  for (const auto& step : seen.steps)
    if (const auto peak = step.peak_memory.value_or(0); peak > 0)
      measured.peak_memory_bytes = std::max(measured.peak_memory_bytes.value_or(0), peak);
  return progress;
}

}  // namespace orch::events
