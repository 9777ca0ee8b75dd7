#include "core/record/ingest/run.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "core/base/text.h"
#include "core/record/named_text.h"

namespace orch::ingest {
namespace {

// "DeepSpeedCPUAdam" and "adamw" are names of one optimizer and compare as equal.
std::string_view family_of(IngestTarget target, std::string_view text) {
  if (target != IngestTarget::optimizer) return text;
  for (const std::string_view word : {"adam", "Adam", "ADAM"})
    if (text.find(word) != std::string_view::npos) return "adam";
  return text;
}

}  // namespace

void Counter::tell(std::int64_t step, double value) {
  if (!(value > 0) || !std::isfinite(value)) return;
  // In the first line of a training, the growth is counted from its beginning.
  const bool whole = step_ == 0 && step > 0;
  const double each =
      (value - value_) / static_cast<double>(std::max<std::int64_t>(1, step - step_));
  if ((whole || step > step_) && each > 0) each_ = each;
  step_ = step;
  value_ = value;
}

LoggedSettings LoggedSettings::of(const KnownFacts& known, int weight) {
  LoggedSettings out;
  for (const auto& [name, value] : known) {
    const bool billions = name == "params_b";
    const auto target = parse_target(billions ? "params" : name);
    if (!target || static_cast<std::size_t>(*target) >= kSettings) continue;
    TargetValues values;
    if (values.read(*target, value, billions ? 1e9 : 1)) out.take(values, weight);
  }
  return out;
}

void LoggedSettings::take(const TargetValues& values, int weight, bool assumed) {
  for (std::size_t i = 0; i < kSettings; ++i) {
    const auto target = static_cast<IngestTarget>(i);
    if (!values.has(target)) continue;
    auto& cell = cells_[i];
    if (cell.weight > weight) continue;
    if (type(target) == Type::text) {
      cell.text = values.text(target).substr(0, 256);
    } else {
      if (!std::isfinite(values.number(target))) continue;
      cell.number = values.number(target);
    }
    cell.weight = weight;
    cell.assumed = assumed;
  }
}

void LoggedSettings::fill(const LoggedSettings& other) {
  for (std::size_t i = 0; i < kSettings; ++i)
    if (cells_[i].weight < 0) cells_[i] = other.cells_[i];
}

void LoggedSettings::merge(const LoggedSettings& later) {
  for (std::size_t i = 0; i < kSettings; ++i)
    if (later.cells_[i].weight >= std::max(0, cells_[i].weight)) cells_[i] = later.cells_[i];
}

std::optional<double> LoggedSettings::number(IngestTarget target) const {
  if (!has(target)) return std::nullopt;
  return cell(target).number;
}

std::optional<std::int64_t> LoggedSettings::whole(IngestTarget target) const {
  const auto value = number(target);
  if (!value || *value != std::floor(*value) || std::abs(*value) > 9e15) return std::nullopt;
  return static_cast<std::int64_t>(*value);
}

std::optional<bool> LoggedSettings::flag(IngestTarget target) const {
  if (!has(target)) return std::nullopt;
  return cell(target).number != 0;
}

bool LoggedSettings::contradicts(const LoggedSettings& other) const {
  for (std::size_t i = 0; i < kSettings; ++i) {
    const auto target = static_cast<IngestTarget>(i);
    if (!tells_apart(target) || !has(target) || !other.has(target)) continue;
    if (cells_[i].number != other.cells_[i].number ||
        family_of(target, cells_[i].text) != family_of(target, other.cells_[i].text))
      return true;
  }
  return false;
}

void FailureSign::note(const Rule& rule, std::string_view line) {
  using record::Failure;
  constexpr int kOfJob = 40;  // a person cancels a job; a step is also cancelled after a crash
  if (!rule.tells_failure()) return;
  if (rule.cancelled && rule.priority < kOfJob && certain) return;
  constexpr std::array kMayPass{Failure::none, Failure::bad_exit, Failure::nan, Failure::timeout,
                                Failure::preempted};
  certain = certain || rule.exits || !contains(kMayPass, rule.failure);
  if (rule.priority <= priority) return;
  *this = {rule.failure, rule.cancelled, rule.priority, words_of(line), 0, certain};
}

bool FailureSign::is_taken_back(const Rule& end) const {
  using record::Failure;
  const bool was_told = cancelled || failure == Failure::timeout || failure == Failure::preempted;
  return !certain && (was_told || end.finished);
}

void FailureSign::pass_step() {
  constexpr int kStepsThatOvercome = 2;
  if (is_there() && ++steps_since >= kStepsThatOvercome) *this = {};
}

std::string words_of(std::string_view line) {
  constexpr std::size_t kLongestReason = 200;
  return record::shortened(trim(line), kLongestReason);
}

bool LoggedRun::says_anything() const {
  // Any program may print a traceback. It belongs to a training if another line shows a framework.
  const bool failed = sign.failure != record::Failure::none &&
                      (sign.failure != record::Failure::bad_exit || !frameworks.empty());
  const bool moved =
      std::any_of(bars.begin(), bars.end(), [](const ProgressBar& bar) { return bar.moves >= 2; });
  return has_steps() || !marks.empty() || failed || moved || losses.last();
}

void LoggedRun::take_settings(const LoggedRun& before) {
  settings = before.settings;
  frameworks = before.frameworks;
  more = before.more;
  arguments = before.arguments;
  versions = before.versions;
  jobs = before.jobs;
  rank_params = before.rank_params;
}

void LoggedRun::merge_start(const LoggedRun& later) {
  settings.merge(later.settings);
  frameworks.insert(later.frameworks.begin(), later.frameworks.end());
  hints.insert(later.hints.begin(), later.hints.end());
  marks.insert(later.marks.begin(), later.marks.end());
  for (const auto& [name, value] : later.more) more[name] = value;
  for (const auto& [name, value] : later.arguments) arguments[name] = value;
  for (const auto& [name, value] : later.versions) versions[name] = value;
  jobs.insert(later.jobs.begin(), later.jobs.end());
  if (world_sizes.size() < 2)
    world_sizes.insert(later.world_sizes.begin(), later.world_sizes.end());
  if (first_line == 0) first_line = later.first_line;
  last_line = later.last_line;
  if (first_stamp.empty()) first_stamp = later.first_stamp;
  if (!later.last_stamp.empty()) last_stamp = later.last_stamp;
  for (const auto& [place, params] : later.rank_params) rank_params[place] = params;
  resumed_after = later.resumed_after;
  merge_bars(later);
  sign = later.sign;
  finished = later.finished;
  stopped = later.stopped;
  end_words = later.end_words;
  if (!later.totals.empty()) totals = later.totals;
}

// Replaces bars by those of the later start, which begin at the step that it resumed from.
void LoggedRun::merge_bars(const LoggedRun& later) {
  for (const auto& bar : later.bars) {
    if (bar.moves == 0) continue;
    auto found = std::find_if(bars.begin(), bars.end(),
                              [&](const ProgressBar& held) { return held.total == bar.total; });
    if (found == bars.end()) {
      bars.push_back(bar);
      continue;
    }
    if (step_weight < 0 && last_step >= 0) last_step = std::max(last_step, found->last);
    if (resumed_after < 0) resumed_after = bar.first - 1;
    const auto elapsed = std::max(found->last_elapsed, bar.last_elapsed);
    *found = bar;
    found->last_elapsed = elapsed;
    std::rotate(found, found + 1, bars.end());  // the bar in use is the last
  }
}

}  // namespace orch::ingest
