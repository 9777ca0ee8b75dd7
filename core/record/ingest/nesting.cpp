#include "core/record/ingest/nesting.h"

#include <algorithm>
#include <cctype>

#include "core/base/text.h"

namespace orch::ingest {
namespace {

constexpr std::size_t kDeepest = 32;
constexpr std::size_t kLongestName = 64;

bool is_name_character(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '-';
}

std::string_view last_name(std::string_view text) {
  auto end = text.size();
  while (end > 0 && !is_name_character(text[end - 1])) --end;
  auto begin = end;
  while (begin > 0 && is_name_character(text[begin - 1])) --begin;
  return text.substr(begin, end - begin);
}

// The name of the object that a bracket behind this text opens: `"name": {` or `name=Type(`.
std::string_view name_before(std::string_view text) {
  auto before = trim(text);
  if (!before.ends_with(':') && !before.ends_with('=')) {
    const auto type = last_name(before);
    if (!type.empty() && before.ends_with(type)) before.remove_suffix(type.size());
    before = trim(before);
  }
  if (!before.ends_with(':') && !before.ends_with('=')) return {};
  return last_name(before).substr(0, kLongestName);
}

}  // namespace

void Nesting::walk(std::string_view text, std::size_t from, std::size_t to,
                   std::vector<std::string>& open) {
  constexpr std::string_view kBrackets = "{}()";
  for (auto at = text.find_first_of(kBrackets, from); at < to;
       at = text.find_first_of(kBrackets, at + 1)) {
    if (text[at] == '}' || text[at] == ')') {
      if (!open.empty()) open.pop_back();
    } else if (open.size() < kDeepest) {
      open.emplace_back(name_before(text.substr(0, at)));
    }
  }
}

void Nesting::take(std::string_view line) {
  const auto text = trim(line);
  if (text.empty()) return;
  const bool closes = text.front() == '}' || text.front() == ')';
  if (!open_.empty() && !closes && line.front() != ' ' && line.front() != '\t') open_.clear();
  if (text.back() == '{' || text.back() == '(' || !open_.empty()) walk(text, 0, text.size(), open_);
}

bool NestingPlace::is_in(std::size_t at, const std::vector<std::string>& names) {
  if (at > at_) Nesting::walk(line_, at_, at, open_);
  at_ = std::max(at_, at);
  return std::ranges::any_of(open_, [&](const auto& name) { return contains(names, name); });
}

}  // namespace orch::ingest
