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

// Whether an item is one of a list, which may be words in braces.
template <class List = std::initializer_list<std::string_view>, class Item>
requires requires(const List& list, const Item& item) { *std::begin(list) == item; }
bool contains(const List& list, const Item& item) {
  return std::find(std::begin(list), std::end(list), item) != std::end(list);
}

// What a function, or a member, gives of each item of a list.
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

// The value of an enumeration by its name: one from 0 on for each of the names.
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
std::string lower(std::string_view text);  // of ASCII

// "heads = # is not divisible by #": texts that differ in their numbers alone become one.
std::string without_numbers(std::string_view text);

// A word of a POSIX shell that expands to exactly this text.
std::string shell_quote(std::string_view text);

// A word of a shell in which $NAME and ${NAME} are filled in and nothing else is special; nothing
// for a string in which a '$' stands before anything but a name. "$$" is a dollar.
std::optional<std::string> shell_expand(std::string_view text);

// Control characters as \xNN, so that a hostile string neither moves the cursor nor breaks a line.
std::string printable(std::string_view text);

// Letters, digits, '.', '_' and '-', not starting with '-' or '.': safe as a file and a job name.
// At most so many.
inline constexpr std::size_t kLongestName = 100;
bool is_plain_name(std::string_view text);

// 64 bits that are the same on every machine and in every version. Not for adversaries.
unsigned long long stable_hash(std::string_view text);

// How many columns a UTF-8 string takes on a terminal (wide characters are not used here).
std::size_t display_width(std::string_view text);

}  // namespace orch
