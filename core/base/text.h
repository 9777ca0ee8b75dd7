#pragma once

#include <algorithm>
#include <functional>
#include <initializer_list>
#include <iterator>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace orch {

// The candidate nearest to a misspelt word, if one is near enough to be meant.
std::optional<std::string> nearest(std::string_view word, std::span<const std::string> candidates);

// "did you mean 'x'?" if something is near, else "one of: a, b, c".
std::string suggestion(std::string_view word, std::span<const std::string> candidates);

// True if a list contains the item; the list may be strings in braces.
template <class List = std::initializer_list<std::string_view>, class Item>
requires requires(const List& list, const Item& item) { *std::begin(list) == item; }
bool contains(const List& list, const Item& item) {
  return std::find(std::begin(list), std::end(list), item) != std::end(list);
}

// The results of a function, or the values of a member, for each item of a list.
template <class List, class Make>
auto mapped(const List& list, Make make) {
  std::vector<std::decay_t<std::invoke_result_t<Make&, decltype(*std::begin(list))>>> out;
  for (const auto& item : list) out.push_back(std::invoke(make, item));
  return out;
}

// The names of things, or the keys of a map.
template <class List>
std::vector<std::string> all_names(const List& list) {
  return mapped(list, [](const auto& item) {
    if constexpr (requires { item.first; })
      return std::string(item.first);
    else if constexpr (requires { item->name; })
      return std::string(item->name);
    else
      return std::string(item.name);
  });
}

// The enumerator with this name; names are listed in the order of the enumerators, from 0 on.
template <class Enum, class Names>
std::optional<Enum> enum_of(const Names& names, std::string_view text) {
  const auto found = std::find(std::begin(names), std::end(names), text);
  if (found == std::end(names)) return std::nullopt;
  return static_cast<Enum>(found - std::begin(names));
}

std::string join(std::span<const std::string> parts, std::string_view separator);
std::string and_list(std::span<const std::string> parts);                    // "a, b and c"
std::string first_of(std::span<const std::string> names, std::size_t most);  // "a, b and 3 more"
std::vector<std::string> split(std::string_view text, char separator);
std::string_view trim(std::string_view text);
std::string lower(std::string_view text);  // for ASCII letters

// "heads = # is not divisible by #": texts that differ only in their numbers become equal.
std::string without_numbers(std::string_view text);

// Quotes text for a POSIX shell so that it expands to exactly this text.
std::string shell_quote(std::string_view text);

// Quotes text for a shell so that $NAME and ${NAME} are expanded and nothing else is special;
// nothing if a '$' stands before anything but a name. "$$" is a dollar.
std::optional<std::string> shell_expand(std::string_view text);

// The text with control characters as \xNN, so that a hostile string can neither move the cursor
// nor break a line.
std::string printable(std::string_view text);

// Letters, digits, '.', '_' and '-', not starting with '-' or '.': safe as a file and a job name,
// and of limited length.
inline constexpr std::size_t kLongestName = 100;
bool is_plain_name(std::string_view text);

// A 64-bit hash that is the same on every machine and in every version. Not collision-resistant
// against adversaries.
unsigned long long stable_hash(std::string_view text);

// The number of columns that a UTF-8 string takes on a terminal (wide characters are not used
// here).
std::size_t display_width(std::string_view text);

}  // namespace orch
