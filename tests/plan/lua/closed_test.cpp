#include "tests/plan/lua/run.h"

using namespace orch::lua;

TEST_CASE("names that reach outside or undo the sandbox are refused", "[lua]") {
  const std::string name = GENERATE(
      "io", "os", "package", "debug", "coroutine", "load", "loadstring", "dofile", "loadfile",
      "require", "collectgarbage", "string.dump", "math.random", "math.randomseed", "pcall",
      "xpcall", "setmetatable", "getmetatable", "rawset", "rawget", "rawequal", "rawlen", "next",
      "_G", "warn", "utf8", "string.match", "string.gmatch", "string.gsub", "table.move");
  const auto error = error_of("return " + name);
  CHECK(error.place == "script.lua:1");
  CHECK(error.fact == name + " is not available");
  CHECK_FALSE(error.fix.empty());
}

TEST_CASE("the globals are exactly the known ones", "[lua]") {
  Sandbox sandbox;
  std::set<std::string> names;
  for (const auto& entry : sandbox.state().globals()) names.insert(entry.first.as<std::string>());
  CHECK(names == std::set<std::string>{"assert", "error", "ipairs", "math", "pairs", "print",
                                       "select", "string", "table", "tonumber", "tostring",
                                       "type"});
}

TEST_CASE("a method of a string cannot reach patterns either", "[lua]") {
  CHECK(error_of("return ('a'):gsub('a', 'b')").fact == "string.gsub is not available");
}

TEST_CASE("what is useful and harmless works", "[lua]") {
  CHECK(result_of("return ('ab'):upper() .. ('x'):rep(3, '-') .. #'four'") == "ABx-x-x4");
  CHECK(result_of("return string.format('%5.2f|%d|%s|%q', 3.14159, 7, 'a', 'b')") ==
        " 3.14|7|a|\"b\"");
  CHECK(result_of("return table.concat({1, 2, 3}, '+')") == "1+2+3");
  CHECK(result_of("local t = {1, 3}; table.insert(t, 2, 2); table.remove(t, 1); "
                  "return table.concat(t, ',')") == "2,3");
  CHECK(result_of("return tostring(math.floor(2.7) + math.max(1, 5))") == "7");
  CHECK(result_of("return tostring(select('#', table.unpack({1, 2, 3})))") == "3");
  CHECK(result_of("return tostring(tonumber('0x10')) .. type(nil)") == "16nil");
}

TEST_CASE("string.find looks for plain text", "[lua]") {
  CHECK(result_of("local a, b = ('x.y.z'):find('.y'); return a .. ',' .. b") == "2,3");
  CHECK(result_of("return tostring(('abc'):find('.'))") == "nil");
  CHECK(result_of("local a, b = ('abab'):find('ab', 2); return a .. ',' .. b") == "3,4");
  CHECK(result_of("local a, b = ('abc'):find('', 4); return a .. ',' .. b") == "4,3");
  CHECK(result_of("return tostring(('abc'):find('c', -1)) .. tostring(('abc'):find('a', 9))") ==
        "3nil");
}

TEST_CASE("a C++ function that throws becomes an error at the line that called it", "[lua]") {
  Sandbox sandbox;
  sandbox.state()["broken"] = []() -> int { throw std::runtime_error("no such thing\ntry other"); };
  auto result = sandbox.run("local a = 1\nreturn broken()", "script.lua");
  REQUIRE_FALSE(result);
  CHECK(result.error().front() == orch::Error{"script.lua:2", "no such thing", "try other"});
}

TEST_CASE("a C++ function learns which line called it", "[lua]") {
  Sandbox sandbox;
  std::string place;
  sandbox.state()["here"] = [&] { place = sandbox.place(); };
  REQUIRE(sandbox.run("\n\nhere()", "dir/script.lua"));
  CHECK(place == "dir/script.lua:3");
  CHECK(sandbox.place().empty());
}

TEST_CASE("the host can ask for a global that does not exist", "[lua]") {
  Sandbox sandbox;
  CHECK_FALSE(sandbox.state()["absent"].valid());
}

TEST_CASE("functions of a script can be called with values and give values back", "[lua]") {
  Sandbox sandbox;
  auto add = sandbox.run("return function(a, b) return a + b end", "script.lua");
  REQUIRE(add);
  auto sum = sandbox.call(*add, 2, 40);
  REQUIRE(sum);
  CHECK(sum->as<int>() == 42);
  CHECK(lua_gettop(sandbox.state().lua_state()) == 0);
}

TEST_CASE("a script that returns nothing gives nil", "[lua]") {
  Sandbox sandbox;
  auto result = sandbox.run("local a = 1", "script.lua");
  REQUIRE(result);
  CHECK(result->get_type() == sol::type::lua_nil);
}
