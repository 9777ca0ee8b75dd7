#include "tests/plan/lua/run.h"

using namespace orch;
using namespace orch::lua;

TEST_CASE("broken syntax is reported with file and line", "[lua]") {
  CHECK(error_of("local a = 1\nlocal b = = 2") ==
        Error{"script.lua:2", "unexpected symbol near '='", ""});
  CHECK(error_of("return {\n1, 2").place == "script.lua:2");
}

TEST_CASE("an error while running is reported at its line, without a prefix in the text", "[lua]") {
  CHECK(error_of("local t\n\nreturn t.x") ==
        Error{"script.lua:3", "attempt to index a nil value (local 't')", ""});
  CHECK(error_of("\nerror('too many layers')") == Error{"script.lua:2", "too many layers", ""});
}

TEST_CASE("an error raised for the caller's line is reported there", "[lua]") {
  const auto error = error_of("local function check()\n  error('bad', 2)\nend\n\ncheck()\n");
  CHECK(error == Error{"script.lua:5", "bad", ""});
}

TEST_CASE("an error without a position takes the line that raised it", "[lua]") {
  CHECK(error_of("\n\nerror('plain', 0)") == Error{"script.lua:3", "plain", ""});
}

TEST_CASE("the lines after the first are the fix", "[lua]") {
  CHECK(error_of("error('no such model\\none of: a, b')") ==
        Error{"script.lua:1", "no such model", "one of: a, b"});
}

TEST_CASE("an error that is not a string is told by its type, without an address", "[lua]") {
  CHECK(error_of("error({})") ==
        Error{"script.lua:1", "error was called with a table instead of a message", ""});
  CHECK(error_of("error()").fact == "error was called with a nil instead of a message");
}

TEST_CASE("a long file name stands whole in the place", "[lua]") {
  const std::string name = std::string(200, 'd') + "/script.lua";
  CHECK(error_of("\nerror('x')", {}, name) == Error{name + ":2", "x", ""});
  CHECK(error_of("\n\nreturn = 1", {}, name) ==
        Error{name + ":3", "unexpected symbol near '='", ""});
}

TEST_CASE("a misspelt name gets a suggestion", "[lua]") {
  CHECK(error_of("\nreturn pair({})") ==
        Error{"script.lua:2", "no such name 'pair'", "did you mean 'pairs'?"});
  CHECK(error_of("return math.flor(1)") ==
        Error{"script.lua:1", "no such name 'math.flor'", "did you mean 'floor'?"});
}

TEST_CASE("control characters of a message do not reach the terminal", "[lua]") {
  CHECK(error_of("error('\\27[31mred')").fact == "\\x1b[31mred");
}

TEST_CASE("a message is cut before it fills the screen", "[lua]") {
  CHECK(error_of("error(('x'):rep(1000000))").fact.size() < 2000);
}

TEST_CASE("bytecode is refused", "[lua]") {
  CHECK(error_of("\x1bLua\x54 whatever").fact == "this is Lua bytecode, not text");
}

TEST_CASE("binary rubbish is refused", "[lua]") {
  CHECK(error_of(std::string("\x7f"
                             "ELF\0\0\x01",
                             7))
            .fact == "this is a binary file, not text");
}

TEST_CASE("text that is not UTF-8 is refused with its line", "[lua]") {
  CHECK(error_of("-- ok\nreturn 'caf\xe9'") ==
        Error{"script.lua:2", "not UTF-8", "save the file as UTF-8"});
  CHECK(error_of("return '\xc0\xaf'").fact == "not UTF-8");      // overlong
  CHECK(error_of("return '\xed\xa0\x80'").fact == "not UTF-8");  // a surrogate
  CHECK(error_of("return '\xf5\x80\x80\x80'").fact == "not UTF-8");
}

TEST_CASE("UTF-8 text and a byte order mark are welcome", "[lua]") {
  CHECK(result_of("\xef\xbb\xbfreturn 'caf\xc3\xa9 \xf0\x9f\x9a\x80'") ==
        "caf\xc3\xa9 \xf0\x9f\x9a\x80");
}
