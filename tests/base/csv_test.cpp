#include "core/base/csv.h"

#include "tests/test.h"
#include "tests/text.h"

namespace orch {
namespace {

using Cells = std::vector<std::string>;

std::string problems(std::string_view text) {
  const auto csv = parse_csv(text, "rows.csv");
  REQUIRE(!csv);
  return orch::text(csv.error());
}

TEST_CASE("cells are read with quotes, commas and line ends in them", "[base][csv]") {
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

TEST_CASE("a byte order mark, CRLF, CR, blank lines and no last line end are fine", "[base][csv]") {
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

TEST_CASE("lines are counted through quoted cells", "[base][csv]") {
  CHECK(
      has(problems("a,b\n\"one\r\ntwo\nthree\",2\nonly\n"), "rows.csv:5: 1 cells under 2 columns"));
}

TEST_CASE("every broken line is told, with its number", "[base][csv]") {
  const auto text = problems("a,b\n1\n1,2,3\nx\"y,2\n\"z\"z,2\n\"open,2\n3,4\n");
  CHECK(has(text, "rows.csv:2: 1 cells under 2 columns"));
  CHECK(has(text, "rows.csv:3: 3 cells under 2 columns"));
  CHECK(has(text, "rows.csv:4: a quote inside a cell"));
  CHECK(has(text, "rows.csv:5: text behind a closing quote"));
  CHECK(has(text, "rows.csv:6: a quote is opened here and never closed"));
}

TEST_CASE("a thousand broken lines are told in twenty", "[base][csv]") {
  std::string text = "a,b\n";
  for (int i = 0; i < 1000; ++i) text += "1\n";
  const auto csv = parse_csv(text, "rows.csv");
  REQUIRE(!csv);
  CHECK(csv.error().size() == 21);
  CHECK(has(csv.error().back().fact, "980 more"));
}

TEST_CASE("what is no table is refused", "[base][csv]") {
  CHECK(has(problems(""), "is empty"));
  CHECK(has(problems("\n \n\r\n"), "is empty"));
  CHECK(has(problems("a,b,a\n"), "two columns 'a'"));
  std::string wide = "c0";
  for (int i = 1; i < 10'000; ++i) wide += ",c" + std::to_string(i);
  CHECK(has(problems(wide + "\n"), "10000 columns"));
  CHECK(has(problems(std::string("a,b\n1,\0\n", 8)), "rows.csv:2: is not UTF-8 text"));
  CHECK(has(problems("a,b\n1,\xff\xfe\n"), "rows.csv:2: is not UTF-8 text"));
  CHECK(has(problems("\x7f"
                     "ELF\x02\x01\x01"),
            "is not UTF-8 text"));
  CHECK(has(problems("a\n\"" + std::string(2'000'000, 'x') + "\"\n"), "a cell of 2000000"));
}

std::string written(const CsvCell& cell) {
  CsvWriter out;
  out.row({cell});
  return out.text().substr(0, out.text().size() - 1);
}

TEST_CASE("a cell is quoted where it must be", "[base][csv]") {
  CHECK(written("plain") == "plain");
  CHECK(written("a,b") == "\"a,b\"");
  CHECK(written("say \"x\"") == "\"say \"\"x\"\"\"");
}

TEST_CASE("numbers are written to be read back, and nothing where there is none", "[base][csv]") {
  CHECK(written(0.1) == "0.1");
  CHECK(written(-2.5e-7) == "-2.5e-07");
  CHECK(written({1.0 / 3, 6}) == "0.333333");
  CHECK(written(std::int64_t{-8}) == "-8");
  CHECK(written(true) == "true");
  CHECK(written(std::optional<double>()).empty());
  CHECK(written(std::numeric_limits<double>::quiet_NaN()).empty());
  CHECK(written(-std::numeric_limits<double>::infinity()).empty());
}

TEST_CASE("no spreadsheet takes a cell for a formula", "[base][csv]") {
  for (const char* text : {"=cmd|' /C calc'!A0", "@SUM(1)", "+1+cmd()", "-2+3", "-inf", "--flag"})
    CHECK(written(text) == "'" + std::string(text));
  CHECK(written("=1,2") == "\"'=1,2\"");
  CHECK(written("\t=1") == "\\x09=1");
  CHECK(written("\r=1") == "\\x0d=1");
  for (const char* text : {"-24", "+0.5", "-1e-3", "-", "a=b", "'quoted'"})
    CHECK(written(text) == text);
}

TEST_CASE("what was written is read back, a line a row", "[base][csv]") {
  const Cells cells{"a,\"b\"", "=1+1", "-x", "-5", "'word'", "", "é"};
  CsvWriter out;
  out.row({"1", "2", "3", "4", "5", "6", "7"});
  out.row({cells.begin(), cells.end()});
  const auto csv = parse_csv(out.text(), "rows.csv");
  REQUIRE(csv);
  REQUIRE(csv->records.size() == 1);
  CHECK(csv->records[0].cells == cells);
  CHECK(written("two\nlines") == "two\\x0alines");
}

}  // namespace
}  // namespace orch
