#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <vector>

#include "core/base/units.h"
#include "core/show/page/parts.h"
#include "core/show/page/text.h"

namespace orch::page {
namespace {

constexpr std::size_t kMost = 16;  // rows: what is beyond is in the table of runs

struct Row {
  std::string model, strategy;
  const Line* line = nullptr;
};

// What was measured goes before what is only estimated.
bool is_better(const Line& a, const Line& b) {
  const auto key = [](const Line& line) {
    return std::pair(!line.numbers.days.measured, line.numbers.best_days()->value);
  };
  return key(a) < key(b);
}

// The best run of each strategy and model: models in the order of their first run, the best first.
std::vector<Row> best_rows(const std::vector<Line>& lines) {
  std::vector<std::string> models;
  std::map<std::pair<std::string, std::string>, const Line*> found;
  for (const auto& line : lines) {
    if (!line.numbers.best_days() || !counts_for_speed(*line.record)) continue;
    const auto model = size_class_of(*line.record);
    if (std::find(models.begin(), models.end(), model) == models.end()) models.push_back(model);
    auto& held = found[{model, strategy_of(*line.record)}];
    if (held == nullptr || is_better(line, *held)) held = &line;
  }
  std::vector<Row> out;
  for (const auto& model : models) {
    const auto first = out.size();
    for (const auto& [key, line] : found)
      if (key.first == model) out.push_back({model, key.second, line});
    std::stable_sort(out.begin() + static_cast<std::ptrdiff_t>(first), out.end(),
                     [](const Row& a, const Row& b) { return is_better(*a.line, *b.line); });
  }
  return out;
}

std::string ranged(const Interval& range, double scale = 1) {
  const auto scaled = range.times(scale);
  auto out = fmt::format("<b>{}</b>", shown(scaled.value));
  if (scaled.has_limits())
    out += fmt::format(" <small>{}–{}</small>", shown(*scaled.low), shown(*scaled.high));
  return out;
}

// GPU-hours per 100B tokens: what every run has, however long it trains.
std::string hours(const Line& line) {
  const auto gpus = line.record->field_number("gpus");
  if (!gpus || *gpus <= 0) return "";
  return group_digits(*gpus * 24 * line.numbers.best_days()->value);
}

std::string what_to_know(const Line& line) {
  const auto& record = *line.record;
  std::string out = line.numbers.days.measured ? "measured" : "estimated";
  if (record.estimated && record.estimated->fit == plan::Fit::tight) out += ", memory tight";
  if (!record.doubts.empty()) out += ", doubtful";
  return out;
}

bool trains(const Row& row) {
  const auto& guess = row.line->record->estimated;
  return guess && guess->days_to_train > 0;
}

std::string who(const Row& row, bool with_model) {
  const auto strategy = row.strategy.empty() ? std::string("not said") : row.strategy;
  return with_model && !row.model.empty() ? row.model + " · " + strategy : strategy;
}

std::string row_html(const Row& row, const Line& best, bool one_each, bool to_train) {
  const auto& days = *row.line->numbers.best_days();
  const double times = days.value / best.numbers.best_days()->value;
  const auto& guess = row.line->record->estimated;
  const auto& gpus = row.line->record->field_number("gpus");
  return fmt::format(
      "<tr><th scope=\"row\">{} <small>{}</small></th><td class=\"number\">{}</td>"
      "<td class=\"number\">{}</td>{}{}"
      "<td class=\"number\">{}</td><td>{}</td></tr>\n",
      escape(who(row, one_each), kLongestName), escape(row.line->name, 60),
      gpus ? shown(*gpus) : "", ranged(days),
      one_each            ? ""
      : row.line == &best ? "<td class=\"number\">best</td>"
                          : fmt::format("<td class=\"number\">{:.2f}×</td>", times),
      !to_train ? ""
                : fmt::format("<td class=\"number train\">{}</td>",
                              trains(row) ? shown(guess->days_to_train) : ""),
      hours(*row.line), what_to_know(*row.line));
}

}  // namespace

std::string bests(const std::vector<Line>& lines) {
  auto rows = best_rows(lines);
  if (rows.size() < 2) return "";
  const bool to_train = std::any_of(rows.begin(), rows.end(), trains);
  bool one_each = true;
  for (std::size_t i = 1; i < rows.size(); ++i)
    one_each = one_each && rows[i].model != rows[i - 1].model;
  // Where each model has one row: the best of those that were measured first.
  if (one_each)
    std::ranges::stable_sort(
        rows, [](const Row& a, const Row& b) { return is_better(*a.line, *b.line); });
  auto out = fmt::format(
      "<section id=\"bests\"><h2>The best of each strategy and size</h2>\n"
      "<div class=\"box\" role=\"region\" aria-label=\"The best of each\" tabindex=\"0\">"
      "<table class=\"bests\"><thead><tr><th scope=\"col\">Strategy</th>"
      "<th scope=\"col\" class=\"number\">GPUs</th>"
      "<th scope=\"col\" class=\"number\">Days <small>per 100B tokens</small></th>"
      "{}{}<th scope=\"col\" class=\"number\">GPU-hours <small>per 100B tokens</small></th>"
      "<th scope=\"col\">To know</th></tr></thead><tbody>\n",
      one_each ? "" : "<th scope=\"col\" class=\"number\">Time <small>of the best</small></th>",
      to_train ? "<th scope=\"col\" class=\"number train\">Days <small>to train</small></th>" : "");
  // A heading for each size, where a size has more than one row.
  const bool many = rows.front().model != rows.back().model && !one_each;
  const Line* best = nullptr;
  for (std::size_t i = 0; i < std::min(rows.size(), kMost); ++i) {
    if (i == 0 || rows[i].model != rows[i - 1].model) {
      best = rows[i].line;
      if (many)
        out += fmt::format(
            "<tr class=\"size\"><th scope=\"rowgroup\" colspan=\"{}\">{}</th></tr>\n",
            to_train ? 7 : 6,
            rows[i].model.empty() ? "model not known" : escape(rows[i].model, kLongestName));
    }
    out += row_html(rows[i], *best, one_each, to_train);
  }
  out += "</tbody></table></div>\n";
  if (rows.size() > kMost)
    out +=
        fmt::format("<p class=\"note\">The first {} of {}; the table of runs has them all.</p>\n",
                    kMost, rows.size());
  return out + "</section>\n";
}

}  // namespace orch::page
