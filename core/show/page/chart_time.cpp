// The time of a step by group: a measured and an estimated bar for each run.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "core/base/text.h"
#include "core/base/units.h"
#include "core/show/page/charts.h"
#include "core/show/page/text.h"

namespace orch::page {
namespace {

constexpr std::array kGroups{"compute", "bubble", "communication", "optimizer", "other"};

using GroupSeconds = std::array<double, kGroups.size()>;

struct Bar {
  const PageLine* line = nullptr;
  bool is_measured = false;
  GroupSeconds seconds = {};

  double total() const { return std::accumulate(seconds.begin(), seconds.end(), 0.0); }
  const char* kind() const { return is_measured ? "measured" : "estimated"; }
};

// Items of an unknown group are counted as "other".
Bar bar_of(const PageLine& line, bool is_measured) {
  Bar out{&line, is_measured};
  const auto& record = *line.record;
  static const std::vector<plan::EstimateItem> kNothing;
  for (const auto& item : is_measured        ? record.measured.time_items
                          : record.estimated ? record.estimated->time
                                             : kNothing) {
    const auto found = std::ranges::find(kGroups, item.kind);
    const auto group = std::min(found, kGroups.end() - 1) - kGroups.begin();
    if (std::isfinite(item.amount) && item.amount > 0)
      out.seconds[static_cast<std::size_t>(group)] += item.amount;
  }
  return out;
}

// The bars of a run that are not empty: measured, then estimated.
std::vector<Bar> bars_of(const PageLine& line) {
  std::vector<Bar> out{bar_of(line, true), bar_of(line, false)};
  std::erase_if(out, [](const Bar& bar) { return bar.total() <= 0; });
  return out;
}

std::string time_finding(const Bar& bar) {
  std::vector<std::size_t> order(kGroups.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, std::greater<>(), [&](auto i) { return bar.seconds[i]; });
  std::vector<std::string> parts;
  for (const auto i : order)
    if (bar.seconds[i] >= 0.005 * bar.total())
      parts.push_back(fmt::format("{} {}", kGroups[i], percent(bar.seconds[i] / bar.total())));
  return fmt::format("Of a step of {}: {} ({}, {} s).", short_name(*bar.line), and_list(parts),
                     bar.kind(), shown(bar.total()));
}

void add_bar(Chart& chart, const ChartRuns& runs, const Bar& bar, bool is_first, bool as_shares) {
  auto& panel = chart.panels[0];
  const double unit = as_shares ? bar.total() / 100 : 1;
  const auto row = static_cast<double>(panel.rows.size());
  panel.rows.push_back(
      {is_first ? run_label(runs, *bar.line) : "", bar.kind(), shown(bar.total()) + " s"});
  std::vector<std::string> cells{bar.line->name, bar.kind()};
  double from = 0;
  for (std::size_t i = 0; i < kGroups.size(); ++i) {
    const double seconds = bar.seconds[i];
    cells.push_back(seconds > 0 ? shown(seconds / unit) : "");
    if (seconds <= 0) continue;
    auto mark =
        mark_of(runs, *bar.line, i, {seconds, {}, {}, 1}, bar.is_measured,
                fmt::format("{} {} s of {} s, {}, {}", kGroups[i], shown(seconds),
                            shown(bar.total()), percent(seconds / bar.total()), bar.kind()));
    mark.is_hollow = mark.is_doubtful = false;
    mark.y = row, mark.low = from / unit, mark.high = (from += seconds) / unit;
    panel.marks.push_back(std::move(mark));
  }
  cells.push_back(shown(bar.total()));
  chart.data.push_back(std::move(cells));
}

Chart time_chart_of(const ChartRuns& runs, const std::vector<const PageLine*>& drawn,
                    bool as_shares) {
  Chart out{.kind = Chart::Kind::bars, .name = "time", .title = "Where the time of a step goes"};
  out.finding = time_finding(bars_of(*drawn.front()).front());
  out.answers = {as_shares ? "shares of a step" : "seconds of a step"};
  auto& head = out.data.emplace_back(std::vector<std::string>{"Run", "Kind"});
  for (const auto* group : kGroups) head.push_back(std::string(group) + (as_shares ? " %" : " s"));
  head.emplace_back("Step s");
  auto& panel = out.panels.emplace_back();
  GroupSeconds sums{};
  double longest = 0;
  for (const auto* line : drawn) {
    bool is_first = true;
    for (const auto& bar : bars_of(*line)) {
      add_bar(out, runs, bar, std::exchange(is_first, false), as_shares);
      longest = std::max(longest, bar.total());
      for (std::size_t i = 0; i < kGroups.size(); ++i) sums[i] += bar.seconds[i];
    }
  }
  panel.x = as_shares ? linear_axis("share of a step, %", 0, 100)
                      : linear_axis("seconds of a step", 0, longest);
  for (std::size_t i = 0; i < kGroups.size(); ++i)
    if (sums[i] > 0) out.legend.push_back({"bar", i, kGroups[i]});
  return out;
}

// True if the longest bar would make the parts of the shortest one invisible.
bool differ_too_much(const std::vector<const PageLine*>& drawn) {
  double least = 1e300, most = 0;
  for (const auto* line : drawn)
    for (const auto& bar : bars_of(*line)) {
      least = std::min(least, bar.total());
      most = std::max(most, bar.total());
    }
  return most > 10 * least;
}

}  // namespace

Chart time_chart(const ChartRuns& runs) {
  std::vector<const PageLine*> all;
  for (const auto* line : runs.ranked)
    if (!bars_of(*line).empty()) all.push_back(line);
  if (all.empty()) return {};
  const auto drawn = best_first(all, kMostRows);
  const bool as_shares = differ_too_much(drawn);
  auto out = time_chart_of(runs, drawn, as_shares);
  out.others.push_back(time_chart_of(runs, drawn, !as_shares));
  out.questions = {"Bars"};
  out.note = out.others[0].note = left_out(all.size(), kMostRows);
  return out;
}

}  // namespace orch::page
