#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/base/date.h"

namespace orch::plan {

// From a day on, this many nodes are available (0: the machine is closed), for a share of the time.
struct TimeWindow {
  Date from;
  std::optional<std::int64_t> nodes = {};  // none: as many as the run needs
  double share = 1;

  bool operator==(const TimeWindow&) const = default;
};

// Days of training on a number of nodes.
struct Portion {
  double days = 0;
  std::int64_t nodes = 0;
};

// A time span in days from the start; infinity: never.
struct DateSpan {
  double from = 0;
  double to = 0;
};

// When a training can run: from a start date on, for a share of each day, or as the windows define.
// While fewer nodes are available than it needs, it waits.
struct Calendar {
  std::optional<Date> start;
  double availability = 1;          // share of a day that failures and maintenance leave
  std::vector<TimeWindow> windows;  // in order; if there are any, start is set

  // The spans of portions that follow each other.
  std::vector<DateSpan> spans(const std::vector<Portion>& portions) const;

  // The calendar days, counted from the start, that the portions take.
  double calendar_days(const std::vector<Portion>& portions) const;

  // The day on which they end; nothing without a start, if they never end, or after the year 9999.
  std::optional<Date> end(const std::vector<Portion>& portions) const;
  std::optional<Date> date(double calendar_day) const;

  // True if calendar days are more than days of training.
  bool stretches() const { return availability < 1 || !windows.empty(); }
  // The largest number of nodes ever available; none: as many as the run needs.
  std::optional<std::int64_t> most_nodes() const;

 private:
  double wait(double day, std::int64_t nodes) const;
  double after(double day, const Portion& portion) const;
};

}  // namespace orch::plan
