#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/base/date.h"

namespace orch::plan {

// From a day on there are so many nodes (0: it is closed), for a share of the time.
struct Window {
  Date from;
  std::optional<std::int64_t> nodes = {};  // none: as many as are wanted
  double share = 1;

  bool operator==(const Window&) const = default;
};

// Some days of training on some nodes.
struct Portion {
  double days = 0;
  std::int64_t nodes = 0;
};

// When something happens, in days from the start; infinity: never.
struct Span {
  double from = 0;
  double to = 0;
};

// When a training can run: from a day on, for a share of the time, or as windows say. Where fewer
// nodes are there than it needs, it waits.
struct Calendar {
  std::optional<Date> start;
  double availability = 1;      // what failures and maintenance leave of a day
  std::vector<Window> windows;  // in order; where there are some, there is a start

  // When portions begin and end that follow each other.
  std::vector<Span> spans(const std::vector<Portion>& portions) const;

  // The days on the wall, from the start, that they take.
  double calendar_days(const std::vector<Portion>& portions) const;

  // The day on which they end; none without a start, if never, or after the year 9999.
  std::optional<Date> end(const std::vector<Portion>& portions) const;
  std::optional<Date> date(double calendar_day) const;

  // Whether days on the wall are more than days of training.
  bool stretches() const { return availability < 1 || !windows.empty(); }
  // The most nodes that are ever there; none: as many as are wanted.
  std::optional<std::int64_t> most_nodes() const;

 private:
  double wait(double day, std::int64_t nodes) const;
  double after(double day, const Portion& portion) const;
};

}  // namespace orch::plan
