#include "core/base/result.h"

namespace orch {

std::string Error::text() const {
  std::string out = place;
  if (!place.empty() && !fact.empty()) out += ": ";
  out += fact;
  if (!fix.empty()) out += "\n  " + fix;
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
