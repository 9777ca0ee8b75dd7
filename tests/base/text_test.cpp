#include "core/base/text.h"

#include <catch2/catch_test_macros.hpp>

using namespace orch;

TEST_CASE("a misspelt word finds its neighbour, a strange one does not", "[base][text]") {
  const std::vector<std::string> names{"tensor_parallel", "pipeline_parallel", "micro_batch"};
  CHECK(nearest("tensor_paralel", names) == "tensor_parallel");
  CHECK(nearest("mico_batch", names) == "micro_batch");
  CHECK(nearest("pipeline", names) == "pipeline_parallel");  // a part of a name is enough
  CHECK_FALSE(nearest("xyz", names));
  CHECK(suggestion("xyz", names) == "one of: tensor_parallel, pipeline_parallel, micro_batch");
  CHECK(suggestion("xyz", {}).empty());
}

TEST_CASE("the last of a list comes after an and", "[base][text]") {
  using Words = std::vector<std::string>;
  CHECK(and_list({}).empty());
  CHECK(and_list(Words{"size"}) == "size");
  CHECK(and_list(Words{"size", "machine"}) == "size and machine");
  CHECK(and_list(Words{"size", "sequence length", "machine"}) ==
        "size, sequence length and machine");
}

TEST_CASE("a plain word stays as it is, anything else is quoted for the shell", "[base][text]") {
  CHECK(shell_quote("gpu_p5") == "gpu_p5");
  CHECK(shell_quote("six@a100") == "six@a100");
  CHECK(shell_quote("") == "''");
  CHECK(shell_quote("a b") == "'a b'");
  CHECK(shell_quote("$(rm -rf /)") == "'$(rm -rf /)'");
  CHECK(shell_quote("it's") == "'it'\\''s'");
  CHECK(shell_quote("~root") == "'~root'");
  CHECK(shell_quote("a\nb") == "'a\nb'");
}

TEST_CASE("of a string that expands, only names are special to the shell", "[base][text]") {
  CHECK(shell_expand("$WORK/a b") == "\"${WORK}/a b\"");
  CHECK(shell_expand("${A}b$C_1-$$5") == "\"${A}b${C_1}-\\$5\"");
  CHECK(shell_expand("`id` \"x\" \\") == "\"\\`id\\` \\\"x\\\" \\\\\"");
  CHECK(shell_expand("") == "\"\"");
  for (const char* bad : {"$(id)", "$", "a$ b", "${", "${A", "${A:-b}", "$1", "${}", "$((1))"})
    CHECK_FALSE(shell_expand(bad));
}

TEST_CASE("names of folders and jobs are plain", "[base][text]") {
  CHECK(is_plain_name("200b"));
  CHECK(is_plain_name("a.b_c-d"));
  for (const char* bad : {"", "-rf", ".", "..", ".hidden", "a/b", "a b", "a\nb", "é", "$(x)"})
    CHECK_FALSE(is_plain_name(bad));
  CHECK_FALSE(is_plain_name(std::string(101, 'a')));
}

TEST_CASE("control characters become visible", "[base][text]") {
  CHECK(printable("a\033[31mb\n") == "a\\x1b[31mb\\x0a");
  CHECK(printable("é…") == "é…");
  CHECK(printable("x\xff\xfe") == "x\\xff\\xfe");
  CHECK(printable("\xc2\x9b"
                  "31m") == "\\xc2\\x9b31m");    // C1: a terminal's other escape character
  CHECK(printable("\xe2\x80") == "\\xe2\\x80");  // cut off
  // Each of Unicode's Bidi_Control characters; the letters of right-to-left languages stay.
  for (const char* turn : {"\u061c", "\u200e", "\u200f", "\u202a", "\u202b", "\u202c", "\u202d",
                           "\u202e", "\u2066", "\u2067", "\u2068", "\u2069"}) {
    const auto shown = printable(std::string("a") + turn + "b");
    INFO(shown);
    CHECK(shown.starts_with("a\\x"));
    CHECK(shown.ends_with("b"));
    CHECK(shown.find(turn) == std::string::npos);
  }
  CHECK(printable("\u202e") == "\\xe2\\x80\\xae");
  CHECK(printable("\u05e9\u05dc\u05d5\u05dd \u2029\u200b") ==
        "\u05e9\u05dc\u05d5\u05dd \u2029\u200b");
}

TEST_CASE("splitting keeps empty parts and trimming takes blanks away", "[base][text]") {
  CHECK(split("a::b", ':') == std::vector<std::string>{"a", "", "b"});
  CHECK(split("", ':') == std::vector<std::string>{""});
  CHECK(trim(" \t a b \n") == "a b");
  CHECK(trim("  ").empty());
}

TEST_CASE("texts that differ in numbers and their units alone become one", "[base][text]") {
  const std::string group = "each of # micro-batches moves # B";
  CHECK(without_numbers("each of 4 micro-batches moves 423.3 GB") == group);
  CHECK(without_numbers("each of 16 micro-batches moves 1,234 TB") == group);
  CHECK(without_numbers("2 Bytes, 3.") == "# Bytes, #.");
}

TEST_CASE("an error repeats a long text in part, and says how long it is", "[base][text]") {
  const Error error{"file", std::string(99'999, 'a') + "\xc3\xa9", "fix"};
  CHECK(error.text() == "file: " + std::string(1000, 'a') + "… (100001 bytes)\n  fix");
  std::string accents = "a";  // so that the last byte is inside a character
  for (int i = 0; i < 5000; ++i) accents += "é";
  CHECK(Error{"", accents, ""}.text() == accents.substr(0, 999) + "… (10001 bytes)");
  CHECK(Error{"a", std::string(2000, 'b'), ""}.text().size() == 2003);
}

TEST_CASE("the stable hash tells close texts apart and never changes", "[base][text]") {
  CHECK(stable_hash("a") != stable_hash("b"));
  // Computed with Python's integers, step by step.
  CHECK(stable_hash("") == 0xecba3df2c3383c52ull);
  CHECK(stable_hash("orchestrate") == 0xaf82f4065033ad6aull);
}

TEST_CASE("width counts characters, not bytes", "[base][text]") {
  CHECK(display_width("abc") == 3);
  CHECK(display_width("é…") == 2);
}
