#include "core/train/tokenize/added_tokens.h"

#include <algorithm>

namespace orch::tokenize {

void AddedTokens::add(std::string text, std::int32_t token) {
  if (text.empty()) return;
  const char first = text.front();
  auto& entries = by_first_[static_cast<unsigned char>(first)];
  entries.push_back({std::move(text), token});
  std::stable_sort(entries.begin(), entries.end(),
                   [](auto& a, auto& b) { return a.text.size() > b.text.size(); });
  if (firsts_.find(first) == std::string::npos) firsts_ += first;
}

std::optional<AddedTokens::Found> AddedTokens::find(std::string_view text) const {
  if (firsts_.empty()) return std::nullopt;
  // Nearly always all begin with '<', and then many bytes are looked at together.
  const auto candidate = [&](std::size_t from) {
    return firsts_.size() == 1 ? text.find(firsts_.front(), from)
                               : text.find_first_of(firsts_, from);
  };
  for (auto at = candidate(0); at != std::string_view::npos; at = candidate(at + 1))
    for (const auto& entry : by_first_[static_cast<unsigned char>(text[at])])
      if (text.substr(at).starts_with(entry.text))
        return Found{at, at + entry.text.size(), entry.token};
  return std::nullopt;
}

}  // namespace orch::tokenize
