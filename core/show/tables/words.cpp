#include "core/show/tables/words.h"

#include <fmt/format.h>

#include <cmath>

#include "core/base/text.h"
#include "core/base/units.h"

namespace orch::tables {

std::string amount(double value) {
  return value >= 100 || value == std::floor(value) ? group_digits(value)
                                                    : fmt::format("{:.3g}", value);
}

std::string significant(double value) {
  if (value >= 1000) return group_digits(value);
  if (value > 0 && value < 0.095) return fmt::format("{:.1g}", value);
  return fmt::format("{:.{}f}", value, value >= 100 ? 0 : value >= 10 ? 1 : 2);
}

std::string quantity_text(record::Dimension unit, double value) {
  const double shown = record::in_unit(unit, value);
  if (unit == record::Dimension::memory) return fmt::format("{:.1f}", shown);
  if (unit == record::Dimension::share) return fmt::format("{:.1f} %", shown);
  return unit == record::Dimension::loss ? fmt::format("{:.4g}", shown) : significant(shown);
}

show::Cell quantity_cell(const record::Quantity& quantity, const record::Quantity::Value& value) {
  if (!value) return {};
  const auto exact = [&](double number) {
    return is_in_bytes(quantity) ? show::Value(static_cast<std::int64_t>(std::llround(number)))
                                 : show::Value(number);
  };
  show::Cell out{exact(value->value), quantity_text(quantity.unit, value->value)};
  if (value->has_limits()) out.low = exact(*value->low), out.high = exact(*value->high);
  return out;
}

bool is_in_bytes(const record::Quantity& quantity) {
  return quantity.unit == record::Dimension::memory || quantity.unit == record::Dimension::traffic;
}

std::string size_text(double params) {
  return params < 1e9 ? fmt::format("{:.3g}M", params / 1e6) : fmt::format("{:.3g}B", params / 1e9);
}

std::string error_text(double estimated, double measured) {
  if (!(estimated > 0) || !(measured > 0)) return "";
  return fmt::format("{:+.0f} %", 100 * (estimated / measured - 1));
}

std::string day_text(const std::optional<Date>& day) { return day ? format_date(*day) : "never"; }

// Both ends with the decimals of the upper one, which has fewer.
std::string range_text(const plan::EstimateRange& range) {
  if (range.high < 0.095 || range.high >= 1000)
    return significant(range.low) + "–" + significant(range.high);
  const int decimals = range.high >= 100 ? 0 : range.high >= 10 ? 1 : 2;
  return fmt::format("{:.{}f}–{:.{}f}", range.low, decimals, range.high, decimals);
}

std::string days_text(const plan::Estimate& estimate, std::string_view unit) {
  return fmt::format("{}{} ({})", significant(estimate.days_to_train), unit,
                     range_text(estimate.range_of(estimate.days_to_train)));
}

std::vector<std::string> others_text(const plan::Estimate& estimate) {
  return mapped(estimate.others, [&](const plan::OtherStack& other) {
    return fmt::format(
        "as {} had {}: {} days", other.stack, other.here ? "it here" : "models of this size",
        significant(estimate.days_to_train * other.step_seconds / estimate.step_seconds));
  });
}

}  // namespace orch::tables
