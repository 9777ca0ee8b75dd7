#include "core/show/tables/status_words.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "core/base/text.h"
#include "core/base/units.h"
#include "core/record/quantities.h"
#include "core/show/tables/words.h"

namespace orch::tables {

using record::Failure;
using record::RunState;

namespace {

// 0: unknown.
double step_of(const RunStatus& run) {
  const auto& step = run.record.measured.step_seconds;
  return step ? step->value : 0;
}

std::vector<std::string> settings_of(const RunStatus& run) {
  auto words = split(run.variant, ' ');
  if (const auto steps = run.record.whole("accumulate").value_or(1); steps > 1)
    words.push_back(fmt::format("accumulate={}", steps));
  std::erase(words, "");
  return words;
}

}  // namespace

std::size_t common_prefix(const std::vector<RunStatus>& runs) {
  if (runs.size() < 2) return 0;
  const auto& first = runs.front().record.id;
  std::size_t length = first.size();
  for (const auto& run : runs) {
    const auto& id = run.record.id;
    const auto at = std::mismatch(first.begin(), first.begin() + static_cast<long>(length),
                                  id.begin(), id.end());
    length = static_cast<std::size_t>(at.first - first.begin());
  }
  const auto dash = first.rfind('-', length == 0 ? 0 : length - 1);
  return dash == std::string::npos || length == 0 ? 0 : dash + 1;
}

std::string id_text(const RunStatus& run, std::size_t from) {
  return printable(std::string_view(run.record.id).substr(from));
}

std::string state_text(const RunStatus& run) {
  const auto& record = run.record;
  if (record.state == RunState::running && record.failure == Failure::hang) return "hangs";
  return std::string(name(record.state));
}

std::string duration_text(double seconds) {
  if (!(seconds >= 0) || seconds > 1e11) return "";
  const auto all = static_cast<long long>(seconds);
  const auto days = all / 86400, hours = all / 3600 % 24, minutes = all / 60 % 60;
  if (days > 0) return fmt::format("{}-{:02}:{:02}:{:02}", days, hours, minutes, all % 60);
  if (hours > 0) return fmt::format("{}:{:02}:{:02}", hours, minutes, all % 60);
  return fmt::format("{}:{:02}", minutes, all % 60);
}

std::string step_text(const RunStatus& run) {
  const auto steps = run.record.measured.steps;
  return steps > 0 ? fmt::format("{}/{}", steps, run.record.measured.steps_planned) : "";
}

std::string loss_text(const RunStatus& run) {
  const auto& loss = run.record.measured.last_loss;
  if (!loss) return "";
  return std::isfinite(*loss) ? fmt::format("{:.3f}", *loss) : "not a number";
}

std::string evaluation_text(const RunStatus& run) {
  const auto loss = record::measured(*record::find_quantity("evaluation_loss"), run.record);
  return loss ? fmt::format("{:.3f}", loss->value) : "";
}

std::set<std::string> shared_settings(const std::vector<const RunStatus*>& runs) {
  if (runs.size() < 2) return {};
  std::map<std::string, std::size_t> counts;
  for (const auto* run : runs)
    for (const auto& word : settings_of(*run)) ++counts[word];
  std::set<std::string> shared;
  for (const auto& [word, count] : counts)
    if (count == runs.size()) shared.insert(word);
  return shared;
}

std::string strategy_text(const RunStatus& run, const std::set<std::string>& shared) {
  std::string out = printable(run.record.field_text("strategy"));
  for (const auto& word : settings_of(run))
    if (!shared.contains(word)) out += " " + printable(word);
  return out;
}

std::string left_text(const RunStatus& run) {
  const auto done = run.record.measured.steps;
  if (run.record.state != RunState::running || done <= 0) return "";
  const double step = step_of(run) > 0 ? step_of(run) : run.estimated_step();
  const auto left = run.record.measured.steps_planned - done;
  return duration_text(std::max(0.0, static_cast<double>(left) * step));
}

std::string measured_step_text(const RunStatus& run) {
  return step_of(run) > 0 ? significant(step_of(run)) : "";
}

std::string estimated_step_text(const RunStatus& run) {
  if (!(run.estimated_step() > 0)) return "";
  const auto& guess = *run.record.estimated;
  if (!(guess.step_high > guess.step_low)) return significant(guess.step_seconds);
  return fmt::format("{} ({})", significant(guess.step_seconds),
                     range_text({guess.step_low, guess.step_high}));
}

std::string ratio_text(const RunStatus& run) {
  const double guess = run.estimated_step();
  return step_of(run) > 0 && guess > 0 ? fmt::format("{:.2f}", step_of(run) / guess) : "";
}

std::optional<double> others_share(const std::vector<const RunStatus*>& runs) {
  std::optional<double> out;
  for (const auto* run : runs)
    if (const auto share = record::measured(*record::find_quantity("others_share"), run->record))
      out = std::max(out.value_or(0), share->value);
  return out;
}

std::string reason_text(const RunStatus& run) {
  const auto& record = run.record;
  std::string out;
  if (record.state == RunState::failed && record.failure != Failure::none) {
    out = name(record.failure);
    std::replace(out.begin(), out.end(), '_', ' ');
    if (!record.reason.empty()) out += ": ";
  }
  out += printable(join(
      mapped(split(record.reason, '\n'), [](const auto& line) { return std::string(trim(line)); }),
      "; "));
  if (run.due && record.state != RunState::planned)
    out += out.empty() ? "to be submitted again" : "; to be submitted again";
  if (run.due && record.state == RunState::planned) out = "to be submitted";
  return out;
}

double share_done(const RunStatus& run) {
  if (run.record.state == RunState::finished) return 1;
  if (run.record.measured.steps_planned <= 0) return 0;
  const auto done = static_cast<double>(run.record.measured.steps);
  return std::clamp(done / static_cast<double>(run.record.measured.steps_planned), 0.0, 1.0);
}

}  // namespace orch::tables
