#include "core/plan/calendar.h"

#include <cmath>

namespace orch::plan {

std::optional<Date> Calendar::end(double days) const {
  using namespace std::chrono;
  constexpr Date kLast = year(9999) / December / 31;
  if (!start) return std::nullopt;
  const double whole = std::floor(calendar_days(days));
  if (!(whole <= static_cast<double>((kLast - *start).count()))) return std::nullopt;
  return *start + std::chrono::days(static_cast<int>(whole));
}

}  // namespace orch::plan
