#include "core/base/regex.h"

#include <catch2/catch_test_macros.hpp>

namespace orch {
namespace {

TEST_CASE("groups are found by name, and hold what they took", "[base][regex]") {
  const auto regex = Regex::compile(R"((?<name>\w+)=(?:(?<number>\d+)|(?<word>\w+)))");
  REQUIRE(regex);
  REQUIRE(regex->groups().size() == 3);
  REQUIRE(regex->search("a=b step=12", 3));
  CHECK(regex->match_begin() == 4);
  CHECK(regex->match_end() == 11);
  for (const auto& [name, index] : regex->groups())
    CHECK(regex->group(index) == (name == "name" ? "step" : name == "number" ? "12" : ""));
  CHECK_FALSE(regex->search("a=b step=12", 11));
  CHECK(regex->gave_up().empty());
}

TEST_CASE("bytes that are no UTF-8 are searched too", "[base][regex]") {
  const auto regex = Regex::compile("b+");
  REQUIRE(regex);
  CHECK(regex->search("\xff\xc3 bb", 0));
  CHECK(regex->match_begin() == 3);
}

TEST_CASE("a literal text is found as it is", "[base][regex]") {
  const auto regex = Regex::compile("a.(b", {.literal = true});
  REQUIRE(regex);
  CHECK(regex->search("axb a.(b", 0));
  CHECK(regex->match_begin() == 4);
}

TEST_CASE("lines begin and end where that is asked for", "[base][regex]") {
  CHECK_FALSE((*Regex::compile("^b$")).search("a\nb\nc", 0));
  CHECK((*Regex::compile("^b$", {.lines = true})).search("a\nb\nc", 0));
}

TEST_CASE("a search with too many tries gives up and says so", "[base][regex]") {
  const auto regex = Regex::compile("^(a+)+$", {.most_tries = 1000});
  REQUIRE(regex);
  CHECK_FALSE(regex->search(std::string(100, 'a') + "b", 0));
  CHECK(regex->gave_up().find("limit") != std::string::npos);
  CHECK(regex->search("aaa", 0));
  CHECK(regex->gave_up().empty());
}

TEST_CASE("a bad expression is an error with its character", "[base][regex]") {
  const auto regex = Regex::compile("a(b");
  REQUIRE_FALSE(regex);
  CHECK(regex.error().front().fact == "missing closing parenthesis at character 4");
}

}  // namespace
}  // namespace orch
