#include "core/record/facts.h"

#include "core/base/text.h"

namespace orch::record {
namespace {

bool is_number(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

bool is_job(std::string_view id) {
  const auto dot = id.find('.');
  return id.size() <= 40 && is_number(id.substr(0, dot)) &&
         (dot == std::string_view::npos || is_number(id.substr(dot + 1)));
}

}  // namespace

std::optional<std::string> parse_answer(std::string_view answer) {
  std::optional<std::string> found;
  for (const auto& line : split(answer.substr(0, answer.rfind('\n') + 1), '\n')) {
    const auto text = trim(line), id = text.substr(0, text.find(';'));
    const bool has_cluster = id.size() < text.size();
    if (!is_job(id) || (has_cluster && !is_plain_name(text.substr(id.size() + 1)))) continue;
    if (found) return std::nullopt;
    found = id;
  }
  return found;
}

}  // namespace orch::record
