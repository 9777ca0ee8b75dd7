#include <fcntl.h>

#include <thread>

#include "core/record/ingest/prefix.h"
#include "core/record/ingest/reader.h"
#include "tests/record/ingest/logs.h"
#include "tests/test.h"

namespace orch::ingest {
namespace {

struct Heard {
  std::string text;
  std::uint64_t number;
  bool whole;
  bool operator==(const Heard&) const = default;
};

std::vector<Heard> lines_of(std::string_view text, ReadOptions options = {},
                            ReadResult* result = nullptr) {
  const LogFolder folder;
  const int file = ::open(folder.write("log", text).c_str(), O_RDONLY);
  std::vector<Heard> heard;
  const auto read = read_lines(file, "log", options, [&](const LogLine& line) {
    heard.push_back({std::string(line.text), line.number, line.whole});
  });
  ::close(file);
  REQUIRE(read.has_value());
  if (result) *result = *read;
  return heard;
}

}  // namespace

TEST_CASE("lines end with a line feed, a carriage return or the file", "[ingest][lines]") {
  CHECK(lines_of("one\ntwo\r\n\rthree\rfour\nfive") == std::vector<Heard>{{"one", 1, true},
                                                                          {"two", 2, true},
                                                                          {"three", 3, true},
                                                                          {"four", 3, true},
                                                                          {"five", 4, false}});
  CHECK(lines_of("").empty());
}

TEST_CASE("lines are the same whatever the size of a block", "[ingest][lines]") {
  std::string text;
  for (int i = 0; i < 3000; ++i)
    text += "line " + std::to_string(i * i) + (i % 7 == 0 ? "\r\n" : "\n");
  ReadOptions small;
  small.block = 17;
  small.longest_line = 5000;
  CHECK(lines_of(text, small) == lines_of(text));
}

TEST_CASE("a line without end is cut, and the next one is whole", "[ingest][lines]") {
  ReadOptions options;
  options.block = 1000;
  options.longest_line = 100;
  ReadResult result;
  const auto heard = lines_of("a\n" + std::string(100'000, 'x') + "\nb\n", options, &result);
  REQUIRE(heard.size() == 3);
  CHECK(heard[1].text == std::string(100, 'x'));
  CHECK(heard[1].number == 2);
  CHECK(heard[2] == Heard{"b", 3, true});
}

TEST_CASE("a progress bar without line ends is read state by state", "[ingest][lines]") {
  ReadOptions options;
  options.block = 1000;
  options.longest_line = 100;
  std::string text;
  for (int i = 0; i < 500; ++i)
    text += "\r" + std::to_string(i) + " of 500 " + std::string(20, '#');
  const auto heard = lines_of(text + "\n", options);
  REQUIRE(heard.size() == 500);
  CHECK(heard[250].text.starts_with("250 of 500"));
  CHECK(heard.back().number == 1);
}

TEST_CASE("escape codes and NUL bytes are taken out", "[ingest][lines]") {
  const auto clean = [](std::string_view line) {
    std::string out;
    clean_line(line, out);
    return out;
  };
  CHECK(clean("\x1b[1;32mgreen\x1b[0m") == "green");
  CHECK(clean("\x1b]0;title\x07text") == "text");
  CHECK(clean("\x1b]0;title\x1b\\text") == "text");
  CHECK(clean(std::string_view("a\0b", 3)) == "ab");
  CHECK(clean("cut\x1b[3") == "cut");
  CHECK(clean("cut\x1b") == "cut");
  for (std::size_t size = 1; size < 50; ++size) {
    std::string block(size, 'a');
    CHECK(is_clean(block));
    for (const char odd : {'\r', '\x1b', '\0'}) {
      block[size / 2] = odd;
      CHECK_FALSE(is_clean(block));
      block[size / 2] = 'a';
    }
  }
}

TEST_CASE("what is not a string is named, with what to do", "[ingest][lines]") {
  const auto why = [](std::string_view text) {
    ReadResult result;
    CHECK(lines_of(text, {}, &result).empty());
    return result.not_text;
  };
  CHECK(why("\x1f\x8b\x08 rest").find("zcat") != std::string::npos);
  CHECK(why("\xff\xfeh\0e\0l\0l\0o\0").find("UTF-16") != std::string::npos);
  std::string wide;
  for (const char c : std::string("iteration 1/ 10 | lm loss: 1.0 | and so on, a line"))
    wide += {c, '\0'};
  CHECK(why(wide).find("iconv") != std::string::npos);
  std::string binary;
  for (int i = 0; i < 4096; ++i) binary += static_cast<char>(i * 37 % 256);
  CHECK(why(binary) == "binary");
}

TEST_CASE("a pipe may give a few bytes at a time", "[ingest][lines]") {
  int ends[2];
  REQUIRE(::pipe(ends) == 0);
  std::thread writer([&] {
    for (const char c : std::string("one\ntwo\nthree"))
      if (::write(ends[1], &c, 1) != 1) break;
    ::close(ends[1]);
  });
  std::vector<std::string> heard;
  const auto read =
      read_lines(ends[0], "pipe", {}, [&](const LogLine& line) { heard.emplace_back(line.text); });
  writer.join();
  ::close(ends[0]);
  REQUIRE(read.has_value());
  CHECK(heard == std::vector<std::string>{"one", "two", "three"});
}

TEST_CASE("labels of ranks and dates are known by their form", "[ingest][prefix]") {
  struct Case {
    std::string_view line, label, stamp, rest;
  };
  const Case cases[] = {
      {" iteration 1/ 2", "", "", " iteration 1/ 2"},
      {"12:  iteration 1/ 2", "12", "", " iteration 1/ 2"},
      {" 3: text", "3", "", "text"},
      {"[default7]: iteration", "default7", "", " iteration"},
      {"[rank3]:Traceback", "rank3", "", "Traceback"},
      {"[3]<stdout>:text", "3", "", "text"},
      {"[1,12]<stderr>:text", "1,12", "", "text"},
      {"worker-1: text", "worker-1", "", "text"},
      {"> 0: text", "0", "", "text"},
      {" [2024-05-01 12:00:00] iteration", "", "2024-05-01 12:00:00", " iteration"},
      {"[default0]: [2024-05-01 12:00:00.123456] x", "default0", "2024-05-01 12:00:00.123456",
       " x"},
      {"[2021-05-26 04:37:41,622] [INFO] [a.py:1:f] x", "", "2021-05-26 04:37:41,622",
       " [INFO] [a.py:1:f] x"},
      {"2024-05-01T12:00:00.5 x", "", "2024-05-01T12:00:00.5", " x"},
      {"08/31/2024 14:37:22 [INFO] x", "", "08/31/2024 14:37:22", " [INFO] x"},
      {"[Rank 0] (after", "", "", "[Rank 0] (after"},
      {"12:00:05 text", "", "", "12:00:05 text"},
      {"note: text", "", "", "note: text"},
      {"", "", "", ""},
      {"7:", "7", "", ""},
  };
  for (const auto& one : cases) {
    INFO(one.line);
    const auto prefix = read_prefix(one.line);
    CHECK(prefix.label == one.label);
    CHECK(prefix.stamp == one.stamp);
    CHECK(one.line.substr(prefix.begin) == one.rest);
  }
  // The expected value is that of: date -u -d '2024-05-01 12:00:00' +%s
  CHECK(seconds_of("2024-05-01 12:00:00") == 1714564800);
  CHECK(seconds_of("2024-05-01 12:00:00,250") == 1714564800.25);
  CHECK(seconds_of("05/01/2024 12:00:00") == 1714564800);
  CHECK(seconds_of("31/05/2024 00:00:00") == seconds_of("2024-05-31 00:00:00"));
  CHECK(seconds_of("2024-13-01 12:00:00") == 0);
  CHECK(tick_of("2024-05-01 12:00:00") == 1);
  CHECK(std::abs(tick_of("2024-05-01 12:00:00,250") - 1e-3) < 1e-12);
  CHECK(seconds_of("") == 0);
}

}  // namespace orch::ingest
