#include "core/base/units.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>

#include "core/base/text.h"

namespace orch {
namespace {

struct UnitSuffix {
  std::string_view text;
  Unit unit;
  double factor;
};

constexpr double kGbit = 1e9 / 8;

constexpr std::array kSuffixes{
    UnitSuffix{"B", Unit::bytes, 1},
    UnitSuffix{"kB", Unit::bytes, 1e3},
    UnitSuffix{"MB", Unit::bytes, 1e6},
    UnitSuffix{"GB", Unit::bytes, 1e9},
    UnitSuffix{"TB", Unit::bytes, 1e12},
    UnitSuffix{"KiB", Unit::bytes, 1024},
    UnitSuffix{"MiB", Unit::bytes, 1024.0 * 1024},
    UnitSuffix{"GiB", Unit::bytes, kGiB},
    UnitSuffix{"TiB", Unit::bytes, 1024 * kGiB},
    UnitSuffix{"MB/s", Unit::bytes_per_second, 1e6},
    UnitSuffix{"GB/s", Unit::bytes_per_second, 1e9},
    UnitSuffix{"TB/s", Unit::bytes_per_second, 1e12},
    UnitSuffix{"Gbit/s", Unit::bytes_per_second, kGbit},
    UnitSuffix{"s", Unit::seconds, 1},
    UnitSuffix{"ms", Unit::seconds, 1e-3},
    UnitSuffix{"us", Unit::seconds, 1e-6},
    UnitSuffix{"min", Unit::seconds, 60},
    UnitSuffix{"h", Unit::seconds, 3600},
    UnitSuffix{"GFLOPs", Unit::flops, 1e9},
    UnitSuffix{"TFLOPs", Unit::flops, 1e12},
    UnitSuffix{"PFLOPs", Unit::flops, 1e15},
    UnitSuffix{"W", Unit::watts, 1},
    UnitSuffix{"kW", Unit::watts, 1e3},
};

std::string scaled(double value, double step, std::array<std::string_view, 5> names) {
  std::size_t i = 0;
  while (std::abs(value) >= step && i + 1 < names.size()) {
    value /= step;
    ++i;
  }
  return fmt::format("{:.{}f} {}", value, i == 0 ? 0 : 1, names[i]);
}

}  // namespace

std::optional<double> parse_quantity(std::string_view text, Unit unit) {
  text = trim(text);
  double number = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (code != std::errc() || !std::isfinite(number)) return std::nullopt;
  const auto suffix = trim(text.substr(static_cast<std::size_t>(end - text.data())));
  if (suffix.empty()) return unit == Unit::none ? std::optional(number) : std::nullopt;
  for (const auto& known : kSuffixes)
    if (known.unit == unit && known.text == suffix) return number * known.factor;
  return std::nullopt;
}

std::string format_bytes(Bytes bytes) { return scaled(bytes, 1000, {"B", "kB", "MB", "GB", "TB"}); }

std::string format_gib(Bytes bytes) { return fmt::format("{:.1f}", bytes / kGiB); }

std::string format_seconds(double seconds) {
  if (seconds == 0) return "0 s";
  if (seconds < 1e-3) return fmt::format("{:.1f} us", seconds * 1e6);
  if (seconds < 1) return fmt::format("{:.2f} ms", seconds * 1e3);
  if (seconds < 2 * 3600) return fmt::format("{:.2f} s", seconds);
  if (seconds < 2 * kDay) return fmt::format("{:.1f} hours", seconds / 3600);
  return fmt::format("{:.1f} days", seconds / kDay);
}

std::string group_digits(double number, int decimals) {
  std::string digits = fmt::format("{:.{}f}", std::abs(number), decimals);
  const bool is_zero = digits.find_first_not_of("0.") == std::string::npos;
  const auto point = std::min(digits.find('.'), digits.size());
  for (auto i = static_cast<std::ptrdiff_t>(point) - 3; i > 0; i -= 3)
    digits.insert(static_cast<std::size_t>(i), ",");
  return (number < 0 && !is_zero ? "-" : "") + digits;
}

std::string format_number(double number) {
  const double size = std::abs(number);
  if (size >= 1e15 || (size > 0 && size < 1e-3)) return fmt::format("{:.3e}", number);
  if (size >= 1000 || number == std::floor(number)) return group_digits(number);
  return fmt::format("{:.4g}", number);
}

std::string format_tokens(double tokens) {
  if (tokens >= 1e12) return fmt::format("{:.4g}T", tokens / 1e12);
  if (tokens >= 1e9) return fmt::format("{:.4g}B", tokens / 1e9);
  if (tokens >= 1e6) return fmt::format("{:.4g}M", tokens / 1e6);
  return group_digits(tokens);
}

}  // namespace orch
