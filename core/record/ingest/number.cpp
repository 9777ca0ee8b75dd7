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
