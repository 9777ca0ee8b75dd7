#include "core/base/date.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>

namespace orch {
namespace {

constexpr std::string_view kForm = "0000-00-00";

bool has_form(std::string_view text) {
  return std::equal(text.begin(), text.end(), kForm.begin(), kForm.end(), [](char c, char form) {
    return form == '0' ? std::isdigit(static_cast<unsigned char>(c)) != 0 : c == form;
  });
}

int number(std::string_view digits) {
  int out = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), out);
  return out;
}

}  // namespace

std::optional<Date> parse_date(std::string_view text) {
  if (!has_form(text)) return std::nullopt;
  const std::chrono::year_month_day day{
      std::chrono::year(number(text.substr(0, 4))),
      std::chrono::month(static_cast<unsigned>(number(text.substr(5, 2)))),
      std::chrono::day(static_cast<unsigned>(number(text.substr(8, 2))))};
  if (!day.ok()) return std::nullopt;
  return Date(day);
}

std::string format_date(Date date) {
  const std::chrono::year_month_day day(date);
  return fmt::format("{:04}-{:02}-{:02}", static_cast<int>(day.year()),
                     static_cast<unsigned>(day.month()), static_cast<unsigned>(day.day()));
}

std::string format_day(double seconds) {
  const std::chrono::sys_seconds time(std::chrono::seconds(static_cast<std::int64_t>(seconds)));
  return format_date(std::chrono::floor<std::chrono::days>(time));
}

std::string format_moment(double seconds) {
  const auto second = static_cast<std::int64_t>(seconds) % 86400;
  return fmt::format("{}T{:02}:{:02}:{:02}Z", format_day(seconds), second / 3600, second / 60 % 60,
                     second % 60);
}

std::optional<double> parse_moment(std::string_view text) {
  const auto day = parse_date(text.substr(0, kForm.size()));
  if (!day || text.size() != 20) return std::nullopt;
  const int time = number(text.substr(11, 2)) * 3600 + number(text.substr(14, 2)) * 60 +
                   number(text.substr(17, 2));
  const double seconds = static_cast<double>(day->time_since_epoch().count()) * 86400.0 + time;
  if (seconds < 0 || format_moment(seconds) != text) return std::nullopt;
  return seconds;
}

}  // namespace orch
