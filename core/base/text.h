#pragma once

#include <algorithm>
#include <iterator>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace orch {

// The candidate nearest to a misspelt word, if one is near enough to be meant.
std::optional<std::string> nearest(std::string_view word, std::span<const std::string> candidates);

// "did you mean 'x'?" if something is near, else "one of: a, b, c".
std::string suggestion(std::string_view word, std::span<const std::string> candidates);

// Whether an item is one of a list.
template <class List, class Item>
  requires requires(const List& list, const Item& item) { *std::begin(list) == item; }
bool contains(const List& list, const Item& item) {
  return std::find(std::begin(list), std::end(list), item) != std::end(list);
}

std::string join(std::span<const std::string> parts, std::string_view separator);
std::vector<std::string> split(std::string_view text, char separator);
std::string_view trim(std::string_view text);
std::string lower(std::string_view text);  // of ASCII

// A word of a POSIX shell that expands to exactly this text.
std::string shell_quote(std::string_view text);

// A word of a shell in which $NAME and ${NAME} are filled in and nothing else is special; nothing for
// a text in which a '$' stands before anything but a name. "$$" is a dollar.
std::optional<std::string> shell_expand(std::string_view text);

// Control characters as \xNN, so that a hostile string neither moves the cursor nor breaks a line.
std::string printable(std::string_view text);

// Letters, digits, '.', '_' and '-', not starting with '-' or '.': safe as a file and a job name.
bool is_plain_name(std::string_view text);

// 64 bits that are the same on every machine and in every version. Not for adversaries.
unsigned long long stable_hash(std::string_view text);

// How many columns a UTF-8 string takes on a terminal (wide characters are not used here).
std::size_t display_width(std::string_view text);

}  // namespace orch
