#include "tests/plan/lua/run.h"

using namespace orch::lua;

TEST_CASE("pairs goes through numbers ascending, then strings, then booleans", "[lua]") {
  CHECK(result_of(R"(
    local t = {[true] = 1, z = 1, [10] = 1, a = 1, [-2] = 1, [1.5] = 1, B = 1, [false] = 1, [1] = 1}
    local keys = {}
    for k in pairs(t) do keys[#keys + 1] = tostring(k) end
    return table.concat(keys, " "))") == "-2 1 1.5 10 B a z false true");
}

TEST_CASE("pairs gives every key its value, however large the table", "[lua]") {
  CHECK(result_of(R"(
    local t = {}
    for i = 1000, 1, -1 do t["k" .. 1000 + i] = i end
    local expected, sum = 1, 0
    for k, v in pairs(t) do
      assert(k == "k" .. 1000 + expected and v == expected)
      expected = expected + 1
      sum = sum + v
    end
    return tostring(sum))") == "500500");
}

TEST_CASE("a key removed during pairs is not visited", "[lua]") {
  CHECK(result_of(R"(
    local t, seen = {a = 1, b = 2, c = 3}, ""
    for k in pairs(t) do seen = seen .. k; t.b = nil; t.d = 4 end
    return seen)") == "ac");
}

TEST_CASE("pairs of an empty table ends at once", "[lua]") {
  CHECK(result_of("for k in pairs({}) do return 'no' end return 'yes'") == "yes");
}

TEST_CASE("a key without an order is an error", "[lua]") {
  const auto error = error_of("local t = {[{}] = 1}\nfor k in pairs(t) do end");
  CHECK(error == orch::Error{"script.lua:2", "pairs: a table as a key has no order",
                             "use numbers or strings as keys"});
}

TEST_CASE("table.sort is stable", "[lua]") {
  CHECK(result_of(R"(
    local t = {}
    for i = 1, 500 do t[i] = {key = i * 7 % 5, i = i} end
    table.sort(t, function(a, b) return a.key < b.key end)
    for i = 2, 500 do
      local a, b = t[i - 1], t[i]
      assert(a.key < b.key or (a.key == b.key and a.i < b.i))
    end
    return "stable")") == "stable");
}

TEST_CASE("table.sort without a function sorts by <", "[lua]") {
  const int size = GENERATE(0, 1, 2, 3, 7, 8, 9, 1000);
  const auto script = R"(
    local n = )" + std::to_string(size) +
                      R"(
    local t = {}
    for i = 1, n do t[i] = i * 7919 % 1009 end
    table.sort(t)
    for i = 2, n do assert(t[i - 1] <= t[i]) end
    return tostring(#t))";
  CHECK(result_of(script) == std::to_string(size));
}

TEST_CASE("an order function that contradicts itself does no harm", "[lua]") {
  CHECK(
      result_of("local t = {3, 1, 2} table.sort(t, function() return true end) return #t .. ''") ==
      "3");
}

TEST_CASE("elements that cannot be compared are an error at the call", "[lua]") {
  CHECK(error_of("\ntable.sort({1, 'a'})").place == "script.lua:2");
}

TEST_CASE("no address is ever shown", "[lua]") {
  const std::string value = GENERATE("{}", "print", "function() end");
  const std::string type = value == "{}" ? "table" : "function";
  CHECK(result_of("return tostring(" + value + ")") == type);
  CHECK(error_of("return string.format('%s', " + value + ")").fact.find("0x") == std::string::npos);
  CHECK(error_of("return string.format('%p', " + value + ")").fact.find("0x") == std::string::npos);
}

TEST_CASE("no format shows an address, even of a string", "[lua]") {
  CHECK(error_of("return string.format('%-20p', 'a')").fact.find("%p is not available") !=
        std::string::npos);
  CHECK(result_of("return string.format('%%p %d%%', 5)") == "%p 5%");
}

TEST_CASE("not-a-number has one text on every machine", "[lua]") {
  CHECK(result_of("return string.format('%g %.1f', 0 / 0, -(0 / 0))") == "nan nan");
  CHECK(result_of("return tostring(0/0) .. tostring(-(0/0))") == "nannan");
}
