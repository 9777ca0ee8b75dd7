#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/record/record.h"

namespace orch::record {

enum class Dimension {
  seconds,
  days,
  hours,
  tokens,
  tflops,
  memory,
  traffic,
  share,
  loss,
  clock,
  power,
  count,
  money,
  energy,
  mass
};
enum class Better { lower, higher, neither };

// A quantity of a run, declared once: tables, CSV, JSON, Markdown, the page, --where, explain,
// compare, status, expect and the patterns of logs use this list. A new quantity is one entry.
struct Quantity {
  using Value = std::optional<statistics::Interval>;

  std::string_view name;   // step_seconds
  std::string_view title;  // "seconds per step"
  std::string_view head;   // column header: "step s"
  Dimension unit = Dimension::seconds;
  Better better = Better::lower;
  int rank = 9;  // the highest is dropped first on a narrow screen; kUnshown: no column
  // Functions that read the value. Without one, the measured value is what the source states by
  // this name, and there is no estimate.
  Value (*measured)(const Measurement&) = nullptr;
  Value (*estimated)(const plan::Estimate&) = nullptr;
  std::string_view range = "";  // "step": the limits' names are step_low and step_high
  bool planned = false;         // cannot be measured
};
inline constexpr int kUnshown = -1;  // only in CSV, JSON and --where

// All of them, in the order of display.
const std::vector<Quantity>& quantities();
const Quantity* find_quantity(std::string_view name);

// The measurable ones: those that an experiment may expect and a log may state.
std::vector<std::string> measured_names();

// Values are finite; nothing if unknown.
Quantity::Value measured(const Quantity& quantity, const Measurement& from);
Quantity::Value estimated(const Quantity& quantity, const plan::Estimate& from);
Quantity::Value measured(const Quantity& quantity, const Record& record);
Quantity::Value estimated(const Quantity& quantity, const Record& record);

// If other programs use at least this share of a machine (others_share), it counts as busy.
// Assumed: repeats on an idle machine differ by half as much.
inline constexpr double kBusyShare = 0.1;

// The number in the unit of display: GiB, GB, percent.
double in_unit(Dimension unit, double value);

// The speed of a record, whatever it is stated as. Values are positive and finite; nothing if
// unknown.

// Tokens per step: the global batch, stated or the product of its factors, times the sequence
// length.
std::optional<double> tokens_per_step(const Record& record);

// From steps if they have an interval, else from the stated days or rate.
std::optional<statistics::Interval> seconds_per_token(const Record& record);

// With the range of the step time.
std::optional<statistics::Interval> estimated_seconds_per_token(const Record& record);

// The same in the unit of display.
inline constexpr double kDaysPer100B = 1e11 / 86400;  // per second per token

}  // namespace orch::record
