#include "core/plan/calendar.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace orch::plan {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

bool suffices(const TimeWindow& window, std::int64_t nodes) {
  return !window.nodes || nodes <= *window.nodes;
}

// The beginning and end of a window, in days from the start.
DateSpan bounds(const Calendar& calendar, std::size_t i) {
  const auto day = [&](std::size_t at) {
    return static_cast<double>((calendar.windows[at].from - *calendar.start).count());
  };
  return {day(i), i + 1 < calendar.windows.size() ? day(i + 1) : kNever};
}

}  // namespace

// The first day from this one on that has this many nodes.
double Calendar::wait(double day, std::int64_t nodes) const {
  if (windows.empty()) return day;
  for (std::size_t i = 0; i < windows.size(); ++i) {
    const auto [opens, closes] = bounds(*this, i);
    if (closes > day && suffices(windows[i], nodes)) return std::max(day, opens);
  }
  return kNever;
}

double Calendar::after(double day, const Portion& portion) const {
  if (windows.empty()) return day + portion.days / availability;
  double left = portion.days;
  for (std::size_t i = 0; i < windows.size(); ++i) {
    const auto [opens, closes] = bounds(*this, i);
    const double from = std::max(day, opens);
    if (from >= closes || !suffices(windows[i], portion.nodes)) continue;
    const double needed = left / windows[i].share;
    if (from + needed <= closes) return from + needed;
    left -= (closes - from) * windows[i].share;
  }
  return kNever;
}

std::vector<DateSpan> Calendar::spans(const std::vector<Portion>& portions) const {
  std::vector<DateSpan> out;
  double day = 0;
  for (const auto& portion : portions) {
    const double from = wait(day, portion.nodes);
    day = after(day, portion);
    out.push_back({from, day});
  }
  return out;
}

double Calendar::calendar_days(const std::vector<Portion>& portions) const {
  const auto all = spans(portions);
  return all.empty() ? 0 : all.back().to;
}

std::optional<Date> Calendar::end(const std::vector<Portion>& portions) const {
  return date(calendar_days(portions));
}

std::optional<Date> Calendar::date(double calendar_day) const {
  using namespace std::chrono;
  constexpr Date kLast = year(9999) / December / 31;
  if (!start) return std::nullopt;
  const double whole = std::floor(calendar_day);
  if (!(whole <= static_cast<double>((kLast - *start).count()))) return std::nullopt;
  return *start + std::chrono::days(static_cast<int>(whole));
}

std::optional<std::int64_t> Calendar::most_nodes() const {
  std::optional<std::int64_t> most;
  for (std::size_t i = 0; i < windows.size(); ++i) {
    if (start && i + 1 < windows.size() && windows[i + 1].from <= *start)
      continue;  // the next one begins earlier
    if (!windows[i].nodes) return std::nullopt;
    most = std::max(most.value_or(0), *windows[i].nodes);
  }
  return most;
}

}  // namespace orch::plan
