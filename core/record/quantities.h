#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/record/record.h"

namespace orch::record {

enum class Dimension { seconds, days, hours, tokens, tflops, memory, traffic, share, loss, clock };
enum class Better { lower, higher, neither };

// A number that a run comes to, declared once: tables, CSV, JSON, Markdown, the page, --where,
// explain, compare, status, expect and the patterns of logs go through this list. A new one is one
// entry of it.
struct Quantity {
  using Value = std::optional<statistics::Interval>;

  std::string_view name;   // step_seconds
  std::string_view title;  // "seconds per step"
  std::string_view head;   // of a column: "step s"
  Dimension unit = Dimension::seconds;
  Better better = Better::lower;
  int rank = 9;  // of a column: the highest is the first to go on a narrow screen; kUnshown: none
  // How it is read. Without a function, what is measured is what the source states by this name,
  // and nothing is estimated.
  Value (*measured)(const Measurement&) = nullptr;
  Value (*estimated)(const plan::Estimate&) = nullptr;
  std::string_view range = "";  // "step": its limits are step_low and step_high in CSV and JSON
  bool planned = false;         // nobody can measure it
};
inline constexpr int kUnshown = -1;  // CSV, JSON and --where have it

// All of them, in the order in which people look at them.
const std::vector<Quantity>& quantities();
const Quantity* find_quantity(std::string_view name);

// Of those that can be measured: what an experiment may expect and a log may state.
std::vector<std::string> measured_names();

// Values are finite; nothing where it is not known.
Quantity::Value measured(const Quantity& quantity, const Measurement& from);
Quantity::Value estimated(const Quantity& quantity, const plan::Estimate& from);
Quantity::Value measured(const Quantity& quantity, const Record& record);
Quantity::Value estimated(const Quantity& quantity, const Record& record);

// From this share of a machine on that other programs use (others_share), what is measured there is
// of a busy machine. Assumed: repeats on an idle one differ by half as much.
inline constexpr double kBusyShare = 0.1;

// The number in the unit that people read: GiB, GB, percent.
double in_unit(Dimension unit, double value);

// How fast a record is, whichever way it says so. Values are positive and finite; nothing where it
// cannot be known.

// Of one step: the global batch, said or the product of what makes it up, times the sequence.
std::optional<double> tokens_per_step(const Record& record);

// From steps where they have an interval, else as days or a rate were stated.
std::optional<statistics::Interval> seconds_per_token(const Record& record);

// With the range of the step.
std::optional<statistics::Interval> estimated_seconds_per_token(const Record& record);

// The same as people say it.
inline constexpr double kDaysPer100B = 1e11 / 86400;  // of a second per token

}  // namespace orch::record
