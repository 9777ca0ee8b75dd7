#include "core/report/status.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <span>

#include "core/base/text.h"
#include "core/base/units.h"
#include "core/report/status_words.h"
#include "core/report/words.h"

namespace orch::report {
namespace {

using record::State;
using Rows = std::vector<std::vector<std::string>>;

// What needs a look first: troubles, then what runs, then what waits, then what is done.
int urgency(const RunStatus& run) {
  switch (run.outcome.verdict.state) {
    case State::failed:
      return 0;
    case State::running:
      return run.outcome.verdict.failure == record::Failure::hang ? 0 : 1;
    case State::stopped:
      return 2;
    case State::pending:
      return 3;
    case State::finished:
      return 4;
    case State::cancelled:
      return 5;
    case State::planned:
      return 6;
  }
  return 7;
}

std::vector<const RunStatus*> in_order(const Standings& standings) {
  std::vector<const RunStatus*> runs;
  for (const auto& run : standings.runs) runs.push_back(&run);
  std::stable_sort(runs.begin(), runs.end(),
                   [](const auto* a, const auto* b) { return urgency(*a) < urgency(*b); });
  return runs;
}

// A column of a table, and how much it is missed: the highest rank is the first to go on a narrow
// screen, 0 always stays.
struct Column {
  std::string title;
  int rank;
  std::function<std::string(const RunStatus&)> text;
};

using Runs = std::vector<const RunStatus*>;

std::vector<std::string> cells(const Column& column, const Runs& runs) {
  std::vector<std::string> out = {column.title};
  for (const auto* run : runs) out.push_back(printable(column.text(*run)));
  return out;
}

std::size_t width_of(std::span<const std::vector<std::string>> columns) {
  std::size_t width = 0;
  for (const auto& column : columns) {
    std::size_t widest = 0;
    for (const auto& cell : column) widest = std::max(widest, display_width(cell));
    width += widest + 2;
  }
  return width;
}

// The columns in which something stands, as many as the screen has room for. A last one of rank 0
// counts for nothing: it goes below its row.
Rows rows_of(const std::vector<Column>& all, const Runs& runs, const Screen& screen) {
  std::vector<std::vector<std::string>> columns;
  std::vector<int> ranks;
  for (const auto& column : all) {
    auto texts = cells(column, runs);
    if (std::all_of(texts.begin() + 1, texts.end(), [](auto& text) { return text.empty(); }))
      continue;
    columns.push_back(std::move(texts));
    ranks.push_back(column.rank);
  }
  while (screen.width > 0 && !ranks.empty()) {
    const auto beside = columns.size() - (ranks.back() == 0 ? 1 : 0);
    if (width_of(std::span(columns).first(beside)) <= screen.width + 2) break;
    const auto least = std::max_element(ranks.begin(), ranks.end());
    if (least == ranks.end() || *least == 0) break;
    columns.erase(columns.begin() + (least - ranks.begin()));
    ranks.erase(least);
  }
  Rows rows(runs.size() + 1);
  for (const auto& column : columns)
    for (std::size_t r = 0; r < rows.size(); ++r) rows[r].push_back(column[r]);
  return rows;
}

std::vector<Column> status_columns(const Standings& standings) {
  const auto prefix = common_prefix(standings.runs);
  return {{"run", 0, [=](const RunStatus& run) { return id_text(run, prefix); }},
          {"state", 0, state_text},
          {"job", 4, [](const RunStatus& run) { return run.job; }},
          {"elapsed", 3, elapsed_text},
          {"step", 1, step_text},
          {"loss", 2, loss_text},
          {"tokens/s", 5, rate_text},
          {"left", 1, left_text},
          {"s/step", 2, measured_step_text},
          {"estimated", 2, estimated_step_text},
          {"reason", 0, reason_text}};
}

std::string prefix_note(const Standings& standings) {
  const auto prefix = common_prefix(standings.runs);
  if (prefix == 0) return "";
  return fmt::format("runs: {}…\n", printable(standings.runs.front().facts.id.substr(0, prefix)));
}

std::string known(double value) { return value > 0 ? significant(value) : ""; }

}  // namespace

std::string status_table(const Standings& standings, const Screen& screen, std::size_t top) {
  if (standings.runs.empty()) return "no runs\n";
  auto runs = in_order(standings);
  const auto all = runs.size();
  if (top > 0 && runs.size() > top) runs.resize(top);
  auto out =
      prefix_note(standings) + grid(rows_of(status_columns(standings), runs, screen), screen);
  if (runs.size() < all) out += fmt::format("… and {} more (--top 0)\n", all - runs.size());
  return out;
}

std::string status_markdown(const Standings& standings) {
  if (standings.runs.empty()) return "no runs\n";
  return prefix_note(standings) + "\n" +
         grid_markdown(rows_of(status_columns(standings), in_order(standings), {}));
}

std::string status_summary(const Standings& standings) {
  std::map<State, std::size_t> counts;
  for (const auto& run : standings.runs) ++counts[run.outcome.verdict.state];
  std::vector<std::string> parts;
  for (const auto state : {State::finished, State::running, State::pending, State::stopped,
                           State::failed, State::cancelled, State::planned})
    if (counts[state] > 0) parts.push_back(fmt::format("{} {}", counts[state], name(state)));
  auto out = fmt::format("{}: {}", printable(standings.experiment), join(parts, ", "));
  out += "; " + hours_text(standings) + "\n";
  if (standings.silent_seconds > 0)
    out += fmt::format("the scheduler has not answered for {}; what is shown may be old\n",
                       format_seconds(standings.silent_seconds));
  return out;
}

std::vector<std::string> changes(const Standings& before, const Standings& now) {
  std::map<std::string, const RunStatus*> old;
  for (const auto& run : before.runs) old[run.facts.id] = &run;
  std::vector<std::string> out;
  for (const auto& run : now.runs) {
    const auto found = old.find(run.facts.id);
    const auto was = found == old.end() ? State::planned : found->second->outcome.verdict.state;
    const auto& verdict = run.outcome.verdict;
    const bool hangs =
        verdict.failure == record::Failure::hang &&
        (found == old.end() || found->second->outcome.verdict.failure != record::Failure::hang);
    if (was == verdict.state && !hangs) continue;
    auto line = fmt::format("{}: {}", id_text(run), state_text(run));
    if (const auto reason = reason_text(run); !reason.empty()) line += ": " + reason;
    if (verdict.state == State::finished && !measured_step_text(run).empty())
      line += fmt::format(", {} s/step ({} estimated)", measured_step_text(run),
                          estimated_step_text(run));
    out.push_back(std::move(line));
  }
  return out;
}

std::string measured_table(const Standings& standings, const Screen& screen) {
  std::vector<const RunStatus*> runs;
  for (const auto& run : standings.runs)
    if (run.outcome.progress && run.outcome.progress->step_seconds > 0) runs.push_back(&run);
  if (runs.empty()) return "";
  const auto rate = [](const RunStatus* run) { return run->outcome.progress->tokens_per_second; };
  std::stable_sort(runs.begin(), runs.end(),
                   [&](const auto* a, const auto* b) { return rate(a) > rate(b); });
  const auto prefix = common_prefix(standings.runs);
  const auto memory = [](const RunStatus& run) { return run.outcome.progress->peak_memory; };
  const std::vector<Column> columns = {
      {"run", 0, [=](const RunStatus& run) { return id_text(run, prefix); }},
      {"s/step", 0, measured_step_text},
      {"est.", 1, estimated_step_text},
      {"ratio", 0, ratio_text},
      {"days/100B", 1, [&](const RunStatus& run) { return days_per_100b_text(rate(&run)); }},
      {"est.", 2,
       [&](auto& run) { return rate(&run) > 0 ? known(run.facts.days_per_100b_tokens) : ""; }},
      {"tokens/s", 6, rate_text},
      {"GiB", 3, [&](auto& run) { return memory(run) > 0 ? format_gib(memory(run)) : ""; }},
      {"est.", 3,
       [&](auto& run) {
         return memory(run) > 0 && run.facts.peak_memory > 0 ? format_gib(run.facts.peak_memory)
                                                             : "";
       }},
      {"GPU-h", 4, [](const RunStatus& run) { return significant(run.outcome.gpu_hours); }},
      {"est.", 4, [](const RunStatus& run) { return known(run.facts.gpu_hours); }},
      {"loss", 2, loss_text},
      {"state", 1, state_text}};
  return prefix_note(standings) + grid(rows_of(columns, runs, screen), screen);
}

}  // namespace orch::report
