#pragma once

#include <charconv>
#include <cmath>
#include <concepts>
#include <optional>
#include <string_view>

namespace orch {

// A string that is a number and nothing else: no blank, no "+", not infinite or NaN.
template <class Number>
std::optional<Number> number_from(std::string_view text) {
  Number value{};
  const auto* end = text.data() + text.size();
  const auto [stop, code] = std::from_chars(text.data(), end, value);
  if (code != std::errc() || stop != end) return std::nullopt;
  if constexpr (std::floating_point<Number>)
    if (!std::isfinite(value)) return std::nullopt;
  return value;
}

// The number if it is finite and above 0.
inline std::optional<double> positive(const std::optional<double>& number) {
  return number && std::isfinite(*number) && *number > 0 ? number : std::nullopt;
}

}  // namespace orch
