#include <algorithm>
#include <limits>
#include <map>
#include <tuple>

#include "core/show/page/columns.h"
#include "core/show/page/page.h"

namespace orch::page {
namespace {

double rank_of(const PageLine& line) {
  const auto& days = line.numbers.best_days();
  const bool counts = days && counts_for_speed(*line.record);
  return counts ? days->value : std::numeric_limits<double>::infinity();
}

// The rank of each line among the lines with its strategy and size, best first.
std::vector<std::size_t> turns_of(const std::vector<PageLine>& lines) {
  std::map<std::pair<std::string, std::string>, std::vector<std::size_t>> groups;
  for (std::size_t i = 0; i < lines.size(); ++i)
    groups[{size_class_of(*lines[i].record), strategy_of(*lines[i].record)}].push_back(i);
  std::vector<std::size_t> turns(lines.size());
  for (auto& [name, group] : groups) {
    std::stable_sort(group.begin(), group.end(), [&](std::size_t a, std::size_t b) {
      return rank_of(lines[a]) < rank_of(lines[b]);
    });
    for (std::size_t place = 0; place < group.size(); ++place) turns[group[place]] = place;
  }
  return turns;
}

}  // namespace

std::vector<PageLine> lines_on_page(const std::vector<PageLine>& lines) {
  if (lines.size() <= kMostRuns) return lines;
  const auto turns = turns_of(lines);
  std::vector<std::tuple<bool, std::size_t, std::size_t>> order;  // is planned, turn, index
  for (std::size_t i = 0; i < lines.size(); ++i)
    order.emplace_back(lines[i].record->state == record::RunState::planned, turns[i], i);
  std::sort(order.begin(), order.end());
  std::vector<std::size_t> chosen;
  for (std::size_t i = 0; i < kMostRuns; ++i) chosen.push_back(std::get<2>(order[i]));
  std::sort(chosen.begin(), chosen.end());
  std::vector<PageLine> out;
  for (const auto i : chosen) out.push_back(lines[i]);
  return out;
}

}  // namespace orch::page
