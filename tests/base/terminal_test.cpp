#include "core/base/terminal.h"

#include <catch2/catch_test_macros.hpp>

using namespace orch;

TEST_CASE("lines that go out keep their breaks, tabs and colours, and nothing else that steers",
          "[base][text]") {
  CHECK(printable_lines("a\tb\n\033[31mc\r\n") == "a\tb\n\\x1b[31mc\\x0d\n");
  CHECK(printable_lines("é…\xff\xc2\x9b\x7f") == "é…\\xff\\xc2\\x9b\\x7f");
  CHECK(printable_lines(std::string_view("\0x", 2)) == "\\x00x");
  CHECK(printable_lines("\033[1;31mred\033[0m", true) == "\033[1;31mred\033[0m");
  for (const std::string_view steers :
       {"\033[2J", "\033[3A", "\033]0;title\007", "\033[31", "\033", "\033[31;xm"}) {
    const auto shown = printable_lines(steers, true);
    CHECK(shown.find('\033') == shown.npos);
    CHECK(shown.find('\007') == shown.npos);
  }
}
