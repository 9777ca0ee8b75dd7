#include "core/train/tokenize/normalize.h"

#include "core/base/utf8.h"
#include "tests/test.h"

using namespace orch::tokenize;
using orch::append_utf8, orch::valid_prefix;

namespace {

// zlib's, going on.
std::uint32_t crc_on(std::uint32_t crc, std::string_view bytes) {
  crc = ~crc;
  for (const char byte : bytes) {
    crc ^= static_cast<unsigned char>(byte);
    for (int i = 0; i < 8; ++i) crc = crc >> 1 ^ (crc & 1 ? 0xedb88320u : 0);
  }
  return ~crc;
}

}  // namespace

TEST_CASE("text is composed as Python's unicodedata does", "[tokenize][nfc]") {
  // python3 -c 'import unicodedata; print(ascii(unicodedata.normalize("NFC", "...")))'
  const std::pair<std::string, std::string> cases[] = {
      {"e\u0308e", "\u00ebe"},
      {"a\u0307\u0323", "\u1ea1\u0307"},
      {"\u0dd9\u1100\u212b\u0323\u093c", "\u0dd9\u1100\u1ea0\u093c\u030a"},
      {"\uac01\u00e9\u2126\u0301\ufb1d\u2126", "\uac01\u00e9\u038f\u05d9\u05b4\u03a9"},
      {"\U0001d15e\u1161\U0001d15e\u3099", "\U0001d157\U0001d165\u1161\U0001d157\u3099\U0001d165"},
      {"\u0958", "\u0915\u093c"},
      {"\u1100\u1161\u11a8", "\uac01"},
      {"\uac00\u11a7", "\uac00\u11a7"},
      {"\u0dd9\u0dcf\u0dca", "\u0ddd"},
      {"\u0f73", "\u0f71\u0f72"},
      {"plain, \u00e9t\u00e9", "plain, \u00e9t\u00e9"},
      {"", ""},
  };
  for (const auto& [text, composed] : cases) {
    CHECK(to_nfc(text) == composed);
    if (text != composed) CHECK_FALSE(surely_nfc(text));
  }
}

TEST_CASE("every character alone is as in Unicode 14", "[tokenize][nfc]") {
  // python3 (unicodedata.unidata_version 14.0.0):
  //   crc = 0
  //   for c in range(0x110000):
  //       if not 0xd800 <= c < 0xe000:
  //           crc = zlib.crc32(unicodedata.normalize("NFC", chr(c)).encode(), crc)
  std::uint32_t crc = 0;
  for (char32_t c = 0; c < 0x110000; ++c) {
    if (c >= 0xd800 && c < 0xe000) continue;
    std::string one;
    append_utf8(c, one);
    const auto composed = to_nfc(one);
    if (surely_nfc(one) && composed != one) FAIL("not surely NFC: " << static_cast<unsigned>(c));
    crc = crc_on(crc, composed);
  }
  CHECK(crc == 3821643620);
}

TEST_CASE("only UTF-8 is UTF-8", "[tokenize][utf8]") {
  for (const char* good : {"", "a", "é", "生", "😊", "12345678é9", "\xf4\x8f\xbf\xbf"})
    CHECK(valid_prefix(good) == std::string_view(good).size());
  for (const char* bad : {"\x80", "\xc3", "\xc0\x80", "\xc1\xbf", "\xe0\x9f\xbf", "\xed\xa0\x80",
                          "\xf4\x90\x80\x80", "\xf0\x8f\xbf\xbf", "\xff", "\xe4\xb8"})
    CHECK(valid_prefix(std::string("ok") + bad + "more") == 2);
}
