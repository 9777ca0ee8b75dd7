#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace orch::page {

// Longest string that is shown, in bytes.
inline constexpr std::size_t kLongest = 2000;
inline constexpr std::size_t kLongestName = 200;

// Any bytes as printable text: longer text is cut with "…"; bytes that are not valid UTF-8 become
// \xNN, control and formatting characters are escaped. Line breaks and tabs stay.
std::string clean(std::string_view text, std::size_t longest = kLongest);

// As clean, and escaped for HTML and XML, both in text and in quoted attributes.
std::string escape(std::string_view text, std::size_t longest = kLongest);

// JSON that is safe inside a <script> element: nothing in it can end the element.
std::string for_script(std::string_view json);

// "12.34" or "1,234"; empty if there is no number or it is not finite.
std::string shown(std::optional<double> number);
std::string days_text(double days);  // "105 days", "72.49 s"

}  // namespace orch::page
