#include "core/train/tokenize/regex_syntax.h"
#include "tests/test.h"

using namespace orch::tokenize;

namespace {

std::vector<std::string> matches(const char* pattern, std::string_view text) {
  const auto regex = compile(pattern);
  REQUIRE(regex);
  std::vector<std::string> out;
  std::size_t from = 0;
  while (const auto match = find(*regex, text, from)) {
    out.emplace_back(text.substr(match->begin, match->end - match->begin));
    from = match->end;
  }
  return out;
}

using Strings = std::vector<std::string>;

}  // namespace

TEST_CASE("a class within a class belongs to it", "[tokenize][regex]") {
  CHECK(matches("[a[bc]d]+", "abcd[e]") == Strings{"abcd"});
  CHECK(matches("[^a[bc]]+", "xaybz[") == Strings{"x", "y", "z["});
  CHECK(matches(R"([\[\]]+)", "a[]") == Strings{"[]"});
}

TEST_CASE("white space is Unicode's", "[tokenize][regex]") {
  CHECK(matches(R"(\s+)", "a \t\u00a0\u3000\u0085b\u180ec\u200bd") ==
        Strings{" \t\u00a0\u3000\u0085"});
  CHECK(matches(R"([^\s]+)", "a b\u2003c") == Strings{"a", "b", "c"});
  CHECK(matches(R"(\S+)", "a b") == Strings{"a", "b"});
}

TEST_CASE("letters and numbers are those of all scripts", "[tokenize][regex]") {
  CHECK(matches(R"(\p{L}+|\p{N}+)", "état生½٣x") == Strings{"état生", "½٣", "x"});
  CHECK(matches("(?i:'ll)", "'LL'll") == Strings{"'LL", "'ll"});
  CHECK(matches(R"([\u4e00-\u9fa5]+)", "a生活b") == Strings{"生活"});
}

TEST_CASE("an empty match is passed over", "[tokenize][regex]") {
  CHECK(matches("a*", "é生aa生a") == Strings{"aa", "a"});
}

TEST_CASE("what means something else in PCRE2 is refused", "[tokenize][regex]") {
  for (const auto* pattern : {R"(\w)", R"(\b)", R"(\h)", R"(a{2}+)", "(?m:.)", "[a&&b]", "[a[^b]]",
                              "[[:alpha:]]", R"([\S])", "[a", "a\\", R"(\u12)"})
    CHECK_FALSE(to_pcre(pattern));
}

TEST_CASE("white space of a million characters is one match", "[tokenize][regex]") {
  const std::string text(1'000'000, ' ');
  CHECK(matches(R"(\s+(?!\S)|\s+)", text) == Strings{text});
  CHECK(matches(R"((?: |x)+)", text) == Strings{text});
}
