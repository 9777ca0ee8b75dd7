#include "tests/plan/lua/run.h"

using namespace orch;
using namespace orch::lua;

TEST_CASE("an endless loop ends with an error at its line", "[lua]") {
  const auto error = error_of("local a = 1\nwhile true do end");
  CHECK(error.place == "script.lua:2");
  CHECK(error.fact == "more than 50,000,000 instructions; is there an endless loop?");
  CHECK_FALSE(error.fix.empty());
}

TEST_CASE("endless recursion in tail calls ends too", "[lua]") {
  const Limits few{.instructions = 100'000};
  CHECK(error_of("local function f() return f() end\nf()", few).fact ==
        "more than 100,000 instructions; is there an endless loop?");
}

TEST_CASE("a memory bomb ends with an error at its line", "[lua]") {
  const auto error = error_of("\nlocal s = 'x' while true do s = s .. s end");
  CHECK(error.place == "script.lua:2");
  CHECK(error.fact == "more than 256 MiB of memory");
  CHECK_FALSE(error.fix.empty());
}

TEST_CASE("memory bombs of every kind are found", "[lua]") {
  const std::string bomb =
      GENERATE("\nlocal t = {} for i = 1, 1e9 do t[i] = {i} end", "\nreturn ('x'):rep(1 << 40)",
               "\nreturn ('x'):rep(1e8, ('y'):rep(1e6))",
               "\nlocal t = {} for i = 1, 1e9 do t[i] = ('x'):rep(1000) .. i end",
               "\nlocal t = {} for i = 1, 1e9 do t['k' .. i] = i end");
  INFO(bomb);
  const auto error = error_of(bomb, {.memory = 32 << 20});
  CHECK(error.place == "script.lua:2");
  CHECK(error.fact == "more than 32 MiB of memory");
}

TEST_CASE("garbage does not count against the memory limit", "[lua]") {
  Sandbox sandbox({.memory = 4 << 20});
  CHECK(sandbox.run("for i = 1, 200000 do local t = {i, i, i} end", "script.lua"));
}

TEST_CASE("work that C does in one instruction is counted", "[lua]") {
  const std::string script =
      GENERATE("local s = ('x'):rep(1e7) while true do local t = s .. 'y' end",
               "local s = ('x'):rep(1e7) while true do s:upper() end",
               "local t = {} for i = 1, 1e5 do t[i] = i end while true do pairs(t) end",
               "local t = {} for i = 1, 1e5 do t[i] = i end while true do table.sort(t) end",
               "local t = {} for i = 1, 1e5 do t[i] = i end while true do table.insert(t, 1, 1); "
               "table.remove(t, 1) end",
               "local s = ('a'):rep(1e6) while true do s:find(('a'):rep(1000) .. 'b') end");
  INFO(script);
  CHECK(error_of(script, {.instructions = 5'000'000}).fact ==
        "more than 5,000,000 instructions; is there an endless loop?");
}

TEST_CASE("the clock ends what is slow without counting", "[lua]") {
  const auto error =
      error_of("local a, b = ('x'):rep(3e6), ('x'):rep(3e6)\nwhile true do local c = a < b end",
               {.seconds = 0.2});
  CHECK(error.place == "script.lua:2");
  CHECK(error.fact == "more than 0.2 seconds");
}

TEST_CASE("repeating the empty string without end returns at once", "[lua]") {
  CHECK(result_of("return ('').rep('', math.maxinteger)").empty());
}

TEST_CASE("recursion without end is a stack overflow with a hint", "[lua]") {
  const auto error = error_of("local function f() return 1 + f() end\nf()");
  CHECK(error.place == "script.lua:1");
  CHECK(error.fact.find("stack overflow") != std::string::npos);
  CHECK(error.fix == "does a function call itself without end?");
}

TEST_CASE("deep nesting of the text is an error, not a crash", "[lua]") {
  for (const auto* brackets : {"()", "{}"}) {
    const auto error = error_of("return " + std::string(100000, brackets[0]) + "1" +
                                std::string(100000, brackets[1]));
    CHECK(error.place == "script.lua");
    CHECK(error.fact.find("overflow") != std::string::npos);
    CHECK(error.fix == "nest less deeply");
  }
}

TEST_CASE("recursion through sort and pairs is an error, not a crash", "[lua]") {
  const auto error = error_of(
      "local function f() table.sort({1, 2}, function(a, b) f() return a < b end) end\nf()");
  CHECK(error.fact.find("overflow") != std::string::npos);
}

TEST_CASE("every call from outside starts with a full budget", "[lua]") {
  Sandbox sandbox({.instructions = 100'000});
  auto work = sandbox.run("return function() for i = 1, 20000 do end return 1 end", "script.lua");
  REQUIRE(work);
  for (int i = 0; i < 50; ++i) CHECK(sandbox.call(*work));
}

TEST_CASE("a call from within a call shares its budget", "[lua]") {
  Sandbox sandbox({.instructions = 100'000});
  int calls = 0;
  sandbox.state()["again"] = [&](sol::protected_function work) {
    ++calls;
    auto result = sandbox.call(work);
    if (!result) throw std::runtime_error(result.error().front().fact);
  };
  auto result = sandbox.run(
      "local function work() for i = 1, 20000 do end end\nwhile true do again(work) end",
      "script.lua");
  REQUIRE_FALSE(result);
  CHECK(result.error().front().fact.find("more than 100,000 instructions") == 0);
  CHECK(calls < 10);
}

TEST_CASE("after a broken limit the sandbox still works", "[lua]") {
  Sandbox sandbox({.instructions = 100'000, .memory = 8 << 20});
  CHECK_FALSE(sandbox.run("while true do end", "a.lua"));
  CHECK_FALSE(sandbox.run("local s = 'x' while true do s = s .. s end", "b.lua"));
  CHECK_FALSE(sandbox.run("local function f() return 1 + f() end f()", "c.lua"));
  auto result = sandbox.run("return 'fine'", "d.lua");
  REQUIRE(result);
  CHECK(result->as<std::string>() == "fine");
}

TEST_CASE("the host's own values are not bounded", "[lua]") {
  Sandbox sandbox({.memory = 4 << 20});
  sandbox.state()["big"] = std::string(64 << 20, 'x');
  auto length = sandbox.run("return #big", "script.lua");
  // Too much memory is in use from the start, which the first hook would detect; a short script
  // ends before.
  REQUIRE(length);
  CHECK(length->as<int>() == 64 << 20);
}
