#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace orch::page {

// How much of a text is shown, in bytes.
inline constexpr std::size_t kLongest = 2000;
inline constexpr std::size_t kLongestName = 200;

// Any bytes as text that can be shown: cut with "…", what is no UTF-8 as \xNN, and so are
// characters that do something instead of showing something. Line breaks and tabs stay.
std::string clean(std::string_view text, std::size_t longest = kLongest);

// The same, for HTML and XML, in text and in quoted attributes.
std::string escape(std::string_view text, std::size_t longest = kLongest);

// JSON for a <script> element: nothing in it can end the element.
std::string for_script(std::string_view json);

// "12.34", "1,234", "" if there is none or it is not finite.
std::string shown(std::optional<double> number);

}  // namespace orch::page
