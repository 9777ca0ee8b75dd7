#include "core/train/tokenize/normalize.h"

#include <utf8proc.h>

#include <algorithm>
#include <cstdlib>
#include <memory>

#include "core/base/result.h"

namespace orch::tokenize {
namespace {

std::string composed(std::string_view text) {
  utf8proc_uint8_t* made = nullptr;
  const auto size =
      utf8proc_map(reinterpret_cast<const utf8proc_uint8_t*>(text.data()),
                   static_cast<utf8proc_ssize_t>(text.size()), &made,
                   static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_COMPOSE));
  const std::unique_ptr<utf8proc_uint8_t, decltype(&std::free)> owner(made, &std::free);
  ORCH_CHECK(size >= 0, utf8proc_errmsg(size));
  return {reinterpret_cast<const char*>(made), static_cast<std::size_t>(size)};
}

}  // namespace

// Below U+0300 there are no combining characters; from there on the first byte is 0xcc or more.
bool surely_nfc(std::string_view text) {
  return std::none_of(text.begin(), text.end(),
                      [](char c) { return static_cast<unsigned char>(c) >= 0xcc; });
}

// utf8proc 2.8 drops a U+11A7 after a Hangul syllable. It composes with no character before it, so
// the text is composed in parts that begin with one.
std::string to_nfc(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const auto part = text.substr(0, text.find("\u11a7", 1));
    out += composed(part);
    text.remove_prefix(part.size());
  }
  return out;
}

}  // namespace orch::tokenize
