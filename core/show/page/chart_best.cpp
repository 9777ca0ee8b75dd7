// The best run of each strategy and size, or the best runs if there is only one strategy. The first
// screen of the page shows this chart beside the answer.

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "core/base/text.h"
#include "core/base/units.h"
#include "core/show/page/charts.h"
#include "core/show/page/text.h"

namespace orch::page {
namespace {

constexpr std::size_t kMostRowsOfBest = 7;
constexpr std::size_t kMostInTable = 16;

struct BestRun {
  std::string name;  // "megatron" or "megatron · 182B"; with one strategy, the run's name
  const PageLine* line = nullptr;

  bool is_measured() const { return line->numbers.days.measured.has_value(); }
  const Interval& days() const { return *line->numbers.best_days(); }
  std::string gpu_hours() const { return group_digits(line->gpus * 24 * days().value); }
};

enum class BestOf { strategies, strategies_and_sizes, runs };

std::string_view title_of(BestOf kind) {
  return kind == BestOf::strategies             ? "The best of each strategy"
         : kind == BestOf::strategies_and_sizes ? "The best of each strategy and size"
                                                : "The best runs";
}

// The runs that count and have days, measured before estimated.
std::vector<const PageLine*> usable_runs(const ChartRuns& runs) {
  std::vector<const PageLine*> out;
  for (const auto* line : runs.ranked)
    if (line->out.empty() && has_days(*line)) out.push_back(line);
  return out;
}

std::vector<BestRun> best_of_strategies(const std::vector<const PageLine*>& usable) {
  std::set<std::string> models, seen;
  for (const auto* line : usable) models.insert(size_class_of(*line->record));
  std::vector<BestRun> out;
  for (const auto* line : usable) {
    std::vector<std::string> parts{strategy_of(*line->record)};
    if (parts[0].empty()) parts[0] = "runs";
    if (models.size() > 1) parts.push_back(size_class_of(*line->record));
    if (parts.back().empty()) parts.back() = "model not known";
    if (const auto name = clean(join(parts, " · "), kLongestName); seen.insert(name).second)
      out.push_back({name, line});
  }
  return out;
}

std::string kind_words(const BestRun& run) {
  return std::string(run.is_measured() ? "measured" : "estimated") +
         (run.line->record->doubts.empty() ? "" : ", doubtful");
}

std::string what_to_know(const BestRun& run) {
  const auto& record = *run.line->record;
  const bool is_tight = !record.has_measurement() && record.estimated &&
                        record.estimated->fit == plan::MemoryFit::tight;
  return kind_words(run) + (is_tight ? ", memory tight" : "");
}

void add_best(Chart& chart, const ChartRuns& runs, const BestRun& run, std::size_t look,
              const std::string& beside) {
  auto& panel = chart.panels[0];
  auto mark = mark_of(runs, *run.line, look, run.days(), run.is_measured(),
                      fmt::format("{}, {} days per 100B tokens, {} GPU-hours, {}", run.name,
                                  with_limits(run.days()), run.gpu_hours(), what_to_know(run)));
  mark.x = run.days().value, mark.y = static_cast<double>(panel.rows.size());
  panel.marks.push_back(std::move(mark));
  panel.rows.push_back(
      {runs.differ_in_gpus ? run.name + " · " + plural(run.line->gpus, "GPU") : run.name, "",
       beside});
}

// Clears a column in which all values are equal, since empty columns are not shown.
void blank_if_same(show::TextRows& data, const std::string& head) {
  const auto column = static_cast<std::size_t>(std::ranges::find(data[0], head) - data[0].begin());
  const auto is_first = [&](const auto& row) { return row[column] == data[1][column]; };
  if (!std::all_of(data.begin() + 1, data.end(), is_first)) return;
  for (auto row = data.begin() + 1; row != data.end(); ++row) (*row)[column].clear();
}

// Memory used and available in GiB: "62.1 of 76.0".
std::string memory_words(const PageLine& line) {
  const auto& memory =
      line.numbers.memory.measured ? line.numbers.memory.measured : line.numbers.memory.estimated;
  if (!memory) return "";
  const auto& limit = line.numbers.memory_limit;
  return fmt::format("{:.1f}", memory->value / kGiB) +
         (limit ? fmt::format(" of {:.1f}", *limit / kGiB) : "");
}

// The first `most` runs, sorted by size of the model; unknown sizes come last.
std::vector<BestRun> by_size(const std::vector<BestRun>& all, std::size_t most) {
  std::vector<BestRun> out(all.begin(),
                           all.begin() + static_cast<std::ptrdiff_t>(std::min(most, all.size())));
  std::map<std::string, double> sizes;  // by size class: strategies count parameters differently
  for (const auto& run : out)
    sizes.try_emplace(size_class_of(*run.line->record),
                      run.line->record->field_number("params").value_or(1e300));
  std::ranges::stable_sort(
      out, {}, [&](const BestRun& run) { return sizes.at(size_class_of(*run.line->record)); });
  return out;
}

std::vector<std::string> data_row(const BestRun& run) {
  const auto& days = run.days();
  const auto& guess = run.line->record->estimated;
  return {run.name,
          shown(run.line->gpus),
          shown(days.value),
          days.has_limits() ? shown(days.low) + "–" + shown(days.high) : "",
          run.gpu_hours(),
          guess && guess->days_to_train > 0 ? days_text(guess->days_to_train) : "",
          memory_words(*run.line),
          kind_words(run),
          run.line->name};
}

}  // namespace

Chart best_chart(const ChartRuns& runs) {
  const auto usable = usable_runs(runs);
  auto all = best_of_strategies(usable);
  if (usable.size() < 2) return {};
  const auto kind = all.size() < 2                                 ? BestOf::runs
                    : all[0].name.find(" · ") == std::string::npos ? BestOf::strategies
                                                                   : BestOf::strategies_and_sizes;
  if (kind == BestOf::runs) {
    all.clear();
    for (const auto* line : usable) all.push_back({line->name, line});
  }
  Chart out{.name = "best", .title = std::string(title_of(kind))};
  out.data = {{kind == BestOf::runs ? "Run" : "Strategy", "GPUs", "Days/100B", "Range",
               "GPU-hours/100B", "To train", "GiB", "Kind", "Run"}};
  auto& panel = out.panels.emplace_back();
  std::vector<const PageLine*> lines;
  for (const auto& run : all) lines.push_back(run.line);
  const auto looks = shown_series(runs, lines);
  std::vector<double> values;
  for (const auto& run : by_size(all, kMostInTable)) {
    out.data.push_back(data_row(run));
    if (kind == BestOf::runs) out.data.back().back().clear();  // the first column has its name
  }
  for (const auto* head : {"GPUs", "Kind"}) blank_if_same(out.data, head);
  for (const auto& run : by_size(all, kMostRowsOfBest)) {
    add_values(values, run.days());
    const auto* look = looks.look(run.line->series);
    add_best(out, runs, run, look != nullptr ? *look : 0,
             kind == BestOf::strategies_and_sizes ? ""
             : run.line == all[0].line
                 ? "best"
                 : fmt::format("{:.2f}×", run.days().value / all[0].days().value));
  }
  panel.x = days_axis(values);
  out.finding = fmt::format("Days per 100B tokens with {}: {} ({}), with {}: {} ({}).", all[0].name,
                            shown(all[0].days().value), what_to_know(all[0]), all[1].name,
                            shown(all[1].days().value), what_to_know(all[1]));
  add_kinds(out.legend, panel.marks);
  out.note = sentences(
      {at_the_edge(panel), all.size() <= kMostInTable
                               ? ""
                               : fmt::format("The first {} of {}; the table of runs has them all.",
                                             kMostInTable, all.size())});
  return out;
}

}  // namespace orch::page
