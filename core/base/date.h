#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace orch {

using Date = std::chrono::sys_days;  // a day in UTC

// "2026-12-01" as a day; nothing for another form, or where the calendar has no such day.
std::optional<Date> parse_date(std::string_view text);

std::string format_date(Date date);  // "2026-12-01"

// "2026-11-15T07:00:00Z" as seconds since 1970; nothing for another form.
std::optional<double> parse_moment(std::string_view text);
std::string format_moment(double seconds);
std::string format_day(double seconds);  // "2026-11-15"

}  // namespace orch
