#include "core/measured/csv.h"

#include <catch2/catch_test_macros.hpp>

namespace orch::measured {
namespace {

using Cells = std::vector<std::string>;

std::string problems(std::string_view text) {
  const auto csv = parse_csv(text, "rows.csv");
  REQUIRE(!csv);
  return orch::text(csv.error());
}

bool has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

TEST_CASE("cells are read with quotes, commas and line ends in them", "[measured][csv]") {
  const auto csv = parse_csv("a,b,c\n1,\"x, \"\"y\"\"\",\n\"two\nlines\",,3\n", "rows.csv");
  REQUIRE(csv);
  CHECK(csv->header == Cells{"a", "b", "c"});
  REQUIRE(csv->records.size() == 2);
  CHECK(csv->records[0].cells == Cells{"1", "x, \"y\"", ""});
  CHECK(csv->records[1].cells == Cells{"two\nlines", "", "3"});
  CHECK(csv->records[0].line == 2);
  CHECK(csv->records[1].line == 3);
  CHECK(csv->column("c") == 2);
  CHECK(csv->column("d") == -1);
}

TEST_CASE("a byte order mark, CRLF, CR, blank lines and no last line end are fine",
          "[measured][csv]") {
  for (const char* text : {"\xef\xbb\xbf"
                           "a,b\r\n1,2\r\n\r\n3,4",
                           "a,b\r1,2\r\r3,4\r", "\n\na,b\n1,2\n  \n3,4\n\n"}) {
    const auto csv = parse_csv(text, "rows.csv");
    REQUIRE(csv);
    CHECK(csv->header == Cells{"a", "b"});
    REQUIRE(csv->records.size() == 2);
    CHECK(csv->records[1].cells == Cells{"3", "4"});
  }
}

TEST_CASE("lines are counted through quoted cells", "[measured][csv]") {
  CHECK(
      has(problems("a,b\n\"one\r\ntwo\nthree\",2\nonly\n"), "rows.csv:5: 1 cells under 2 columns"));
}

TEST_CASE("every broken line is told, with its number", "[measured][csv]") {
  const auto text = problems("a,b\n1\n1,2,3\nx\"y,2\n\"z\"z,2\n\"open,2\n3,4\n");
  CHECK(has(text, "rows.csv:2: 1 cells under 2 columns"));
  CHECK(has(text, "rows.csv:3: 3 cells under 2 columns"));
  CHECK(has(text, "rows.csv:4: a quote inside a cell"));
  CHECK(has(text, "rows.csv:5: text behind a closing quote"));
  CHECK(has(text, "rows.csv:6: a quote is opened here and never closed"));
}

TEST_CASE("a thousand broken lines are told in twenty", "[measured][csv]") {
  std::string text = "a,b\n";
  for (int i = 0; i < 1000; ++i) text += "1\n";
  const auto csv = parse_csv(text, "rows.csv");
  REQUIRE(!csv);
  CHECK(csv.error().size() == 21);
  CHECK(has(csv.error().back().fact, "980 more"));
}

TEST_CASE("what is no table is refused", "[measured][csv]") {
  CHECK(has(problems(""), "is empty"));
  CHECK(has(problems("\n \n\r\n"), "is empty"));
  CHECK(has(problems("a,b,a\n"), "two columns 'a'"));
  std::string wide = "c0";
  for (int i = 1; i < 10'000; ++i) wide += ",c" + std::to_string(i);
  CHECK(has(problems(wide + "\n"), "10000 columns"));
  CHECK(has(problems(std::string("a,b\n1,\0\n", 8)), "rows.csv:2: is not text in UTF-8"));
  CHECK(has(problems("a,b\n1,\xff\xfe\n"), "rows.csv:2: is not text in UTF-8"));
  CHECK(has(problems("\x7f"
                     "ELF\x02\x01\x01"),
            "is not text in UTF-8"));
  CHECK(has(problems("a\n\"" + std::string(2'000'000, 'x') + "\"\n"), "a cell of 2000000"));
}

TEST_CASE("a cell is quoted where it must be, and reads back", "[measured][csv]") {
  CHECK(csv_cell("plain") == "plain");
  CHECK(csv_cell("a,b") == "\"a,b\"");
  CHECK(csv_cell("say \"x\"") == "\"say \"\"x\"\"\"");
  const auto csv = parse_csv("h\n" + csv_cell("a,\"b\"\nc") + "\n", "rows.csv");
  REQUIRE(csv);
  CHECK(csv->records[0].cells[0] == "a,\"b\"\nc");
}

}  // namespace
}  // namespace orch::measured
