#pragma once

// Text for formulas and problems, with the standard library alone: say("2 B x ", params, "
// params").

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>
#include <type_traits>

#pragma GCC visibility push(hidden)

namespace orch::backend {

// A number of bytes, printed as "17.2 GB".
struct PrintedBytes {
  double bytes;
};

// A share, printed as "7.7 %".
struct PrintedPercent {
  double fraction;
};

namespace words {

// If set, say() does nothing: a search checks millions of runs whose text is not read, and
// formatting would take longer than all the rest. Set for the duration of one call, in this thread
// alone.
inline constinit thread_local bool unread = false;

class UnreadTexts {
 public:
  explicit UnreadTexts(bool yes) : before_(unread) { unread = yes; }
  ~UnreadTexts() { unread = before_; }
  UnreadTexts(const UnreadTexts&) = delete;
  UnreadTexts& operator=(const UnreadTexts&) = delete;

 private:
  bool before_;
};

inline void put(std::string& out, std::string_view text) { out += text; }

inline void print(std::string& out, const char* format, double number) {
  char text[64];
  const int length = std::snprintf(text, sizeof text, format, number);
  if (length > 0) out.append(text, std::min<std::size_t>(length, sizeof text - 1));
}

// "953,180,700"; a fraction is rounded to four significant digits, or to an integer if that has
// more.
inline void put_number(std::string& out, double number) {
  if (std::fabs(number) >= 1e4) number = std::round(number);
  if (number != std::floor(number) || std::fabs(number) >= 1e15) return print(out, "%.4g", number);
  std::string digits;
  print(digits, "%.0f", number);
  const std::size_t sign = digits[0] == '-' ? 1 : 0;
  for (std::size_t i = 0; i < digits.size(); ++i) {
    if (i > sign && (digits.size() - i) % 3 == 0) out += ',';
    out += digits[i];
  }
}

inline void put(std::string& out, PrintedBytes size) {
  constexpr const char* kUnits[] = {" B", " kB", " MB", " GB", " TB", " PB"};
  double amount = size.bytes;
  int unit = 0;
  for (; std::fabs(amount) >= 999.95 && unit < 5; ++unit) amount /= 1000;
  print(out, unit == 0 ? "%.0f" : "%.1f", amount);
  out += kUnits[unit];
}

inline void put(std::string& out, PrintedPercent share) {
  print(out, "%.1f %%", share.fraction * 100);
}

template <class Number, class = std::enable_if_t<std::is_arithmetic_v<Number>>>
void put(std::string& out, Number number) {
  put_number(out, static_cast<double>(number));
}

}  // namespace words

template <class... Parts>
std::string say(const Parts&... parts) {
  std::string out;
  if (!words::unread) (words::put(out, parts), ...);
  return out;
}

}  // namespace orch::backend

#pragma GCC visibility pop
