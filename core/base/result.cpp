#include "core/base/result.h"

namespace orch {
namespace {

// A user's value may be of any length, and messages repeat it: its beginning and its length are
// enough.
std::string shortened(const std::string& text) {
  constexpr std::size_t kMost = 2000, kKept = 1000;
  if (text.size() <= kMost) return text;
  std::size_t end = kKept;
  while (end > 0 && (text[end] & 0xc0) == 0x80) --end;  // in the middle of a UTF-8 character
  return text.substr(0, end) + "… (" + std::to_string(text.size()) + " bytes)";
}

}  // namespace

std::string Error::text() const {
  std::string out = shortened(place);
  if (!place.empty() && !fact.empty()) out += ": ";
  out += shortened(fact);
  if (!fix.empty()) out += "\n  " + shortened(fix);
  return out;
}

std::string text(const std::vector<Error>& errors) {
  std::string out;
  for (const auto& error : errors) {
    if (!out.empty()) out += '\n';
    out += error.text();
  }
  return out;
}

void check_failed(const char* condition, const char* message, const char* file, int line) {
  std::fprintf(stderr, "orch: a bug, please report it: %s (%s) at %s:%d\n", message, condition,
               file, line);
  std::abort();
}

}  // namespace orch
