#include "core/record/ingest/number.h"

#include <string>

#include "core/base/text.h"

namespace orch::ingest {

double suffix_factor(std::string_view rest) {
  if (rest.empty()) return 1;
  if (rest.size() > 1 && rest[1] != ' ' && rest[1] != '|' && rest[1] != ',') return 1;
  switch (rest.front()) {
    case 'K':
      return 1e3;
    case 'M':
      return 1e6;
    case 'G':
    case 'B':
      return 1e9;
    case 'T':
      return 1e12;
    default:
      return 1;
  }
}

namespace {

double seconds_of_unit(std::string_view unit) {
  if (unit == "d" || unit == "day" || unit == "days") return 86400;
  if (unit == "h") return 3600;
  if (unit == "m" || unit == "min") return 60;
  return unit == "s" ? 1 : 0;
}

}  // namespace

std::optional<double> seconds_of_duration(std::string_view text) {
  text = trim(text);
  if (text.empty() || text.size() > 40) return std::nullopt;
  const char* at = text.data();
  const char* const end = at + text.size();
  double seconds = 0, parts = 0;  // parts: the time before the last colon
  bool colons = false;
  while (at != end) {
    double value = 0;
    const char* const stop = is_digit(*at) ? read_number(at, end, value) : nullptr;
    if (stop == nullptr) return std::nullopt;
    at = stop;
    if (at != end && *at == ':') {
      parts = (parts + value) * 60;
      colons = true;
      if (++at == end) return std::nullopt;
      continue;
    }
    if (at == end) return colons ? std::optional(seconds + parts + value) : std::nullopt;
    if (colons) return std::nullopt;
    while (at != end && *at == ' ') ++at;
    const char* const unit = at;
    while (at != end && *at >= 'a' && *at <= 'z') ++at;
    const double each = seconds_of_unit({unit, static_cast<std::size_t>(at - unit)});
    if (each == 0) return std::nullopt;
    seconds += value * each;
    while (at != end && (*at == ' ' || *at == ',')) ++at;
  }
  return seconds;
}

std::optional<double> to_number(std::string_view text) {
  text = trim(text);
  if (text.size() >= 2 && (text.front() == '\'' || text.front() == '"') &&
      text.back() == text.front())
    text = text.substr(1, text.size() - 2);
  std::string plain;
  if (text.find(',') != std::string_view::npos) {
    for (const char c : text)
      if (c != ',') plain += c;
    text = plain;
  }
  double value = 0;
  const char* const end = text.data() + text.size();
  if (text.empty() || read_number(text.data(), end, value) != end) return std::nullopt;
  return value;
}

}  // namespace orch::ingest
