#include <catch2/catch_test_macros.hpp>

#include "core/record/events/collect.h"
#include "tests/place.h"

using namespace orch;
using namespace orch::events;

namespace {

std::string last_lines(const std::string& text, std::int64_t lines) {
  const TestFolder place;
  LogTail tail(place.file("log", text), lines);
  std::string out;
  while (true) {
    const auto chunk = tail.next();
    out += chunk.text;
    if (!chunk.more) return out;
  }
}

}  // namespace

TEST_CASE("a tail begins with the last lines", "[collect][tail]") {
  CHECK(last_lines("a\nb\nc\n", 2) == "b\nc\n");
  CHECK(last_lines("a\nb\nc", 2) == "b\nc");
  CHECK(last_lines("a\nb\nc\n", 3) == "a\nb\nc\n");
  CHECK(last_lines("a\nb\nc\n", 10) == "a\nb\nc\n");
  CHECK(last_lines("a\nb\nc\n", 0).empty());
  CHECK(last_lines("a\nb\nc\n", -1) == "a\nb\nc\n");
  CHECK(last_lines("\n\n\n", 2) == "\n\n");
  CHECK(last_lines("", 5).empty());
  std::string many;
  for (int i = 0; i < 100'000; ++i) many += std::to_string(i) + "\n";
  CHECK(last_lines(many, -1) == many);
  CHECK(last_lines(many, 50'000) == many.substr(many.find("\n50000\n") + 1));
}

TEST_CASE("a tail gives what is new, and begins again when the file shrank", "[collect][tail]") {
  const TestFolder place;
  LogTail tail(place.root() / "log", 1);
  CHECK(tail.next().text.empty());  // not there yet
  const auto file = place.file("log", "old\nfirst\n");
  CHECK(tail.next().text == "first\n");
  CHECK(tail.next().text.empty());
  std::ofstream(file, std::ios::app) << "half";
  CHECK(tail.next().text == "half");
  std::ofstream(file, std::ios::app) << " and more\n";
  CHECK(tail.next().text == " and more\n");
  place.file("log", "new\n");
  CHECK(tail.next().text == "new\n");
  fs::remove(file);
  CHECK(tail.next().text.empty());
  place.file("log", "x\n");
  CHECK(tail.next().text == "x\n");
}

TEST_CASE("a log of 10 GB comes in pieces", "[collect][tail]") {
  const TestFolder place;
  const auto file = place.file("log", "");
  fs::resize_file(file, std::uintmax_t{10} << 30);
  std::ofstream(file, std::ios::app) << "\none\ntwo\n";
  CHECK(LogTail(file, 2).next().text == "one\ntwo\n");
  auto chunk = LogTail(file, 100).next();  // the search for a line end is limited
  CHECK(chunk.text.size() <= 4 << 20);
  CHECK(chunk.more);
  chunk = LogTail(file, -1).next();
  CHECK(chunk.text.size() == 4 << 20);
  CHECK(chunk.more);
}

TEST_CASE("the lines of one rank are told by their labels", "[collect][tail]") {
  CHECK(lines_of_rank("0: a\n1: b\n0: c\n10: d\n", 0) == "0: a\n0: c\n");
  CHECK(lines_of_rank(" 0: a\n 1: b\n10: d", 10) == "10: d");
  CHECK(lines_of_rank("[0] a\n[3] b\n", 3) == "[3] b\n");
  CHECK(lines_of_rank("[rank0]: a\n[rank3]:[E616] b\n", 3) == "[rank3]:[E616] b\n");
  CHECK(lines_of_rank("orch: attempt 1\n0: a\n1: b\n", 1) == "1: b\n");
  CHECK(lines_of_rank("0: a\n", 7).empty());
  CHECK(lines_of_rank("no\nlabels\n12: 3\n", 1) == "no\nlabels\n12: 3\n");
  CHECK(lines_of_rank("-1: a\n99999999999999: b\n: c\n", 1) == "-1: a\n99999999999999: b\n: c\n");
  CHECK(lines_of_rank("", 0).empty());
}
