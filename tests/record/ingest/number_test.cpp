#include "core/record/ingest/number.h"

#include "tests/test.h"

namespace orch::ingest {
namespace {

double read(const std::string& text, std::size_t& used) {
  double value = -1;
  const char* const end = read_number(text.data(), text.data() + text.size(), value);
  used = end ? static_cast<std::size_t>(end - text.data()) : 0;
  return value;
}

}  // namespace

TEST_CASE("numbers are read as the C library reads them", "[ingest][number]") {
  std::mt19937_64 random(7);
  const auto digits = [&](int most) {
    std::string out;
    for (auto n = random() % static_cast<unsigned>(most) + 1; n > 0; --n)
      out += static_cast<char>('0' + random() % 10);
    return out;
  };
  for (int i = 0; i < 20'000; ++i) {
    std::string text = random() % 4 == 0 ? "-" : "";
    text += digits(12);
    if (random() % 2 == 0) text += "." + digits(12);
    if (random() % 2 == 0) {
      text += random() % 2 == 0 ? "E+" : "E-";
      text += digits(2);
    }
    std::size_t used = 0;
    const double value = read(text, used);
    INFO(text);
    CHECK(used == text.size());
    CHECK(value == std::strtod(text.c_str(), nullptr));
  }
}

TEST_CASE("a number ends where it ends", "[ingest][number]") {
  std::size_t used = 0;
  CHECK(read("134.5 |", used) == 134.5);
  CHECK(used == 5);
  CHECK(read("1.5E", used) == 1.5);
  CHECK(used == 3);
  CHECK(read("5/1000", used) == 5);
  CHECK(used == 1);
  read("abc", used);
  CHECK(used == 0);
  read("", used);
  CHECK(used == 0);
  read("-", used);
  CHECK(used == 0);
}

TEST_CASE("NaN and infinity are numbers too", "[ingest][number]") {
  std::size_t used = 0;
  CHECK(std::isnan(read("nan |", used)));
  CHECK(used == 3);
  CHECK(std::isnan(read("NaN", used)));
  CHECK(read("inf", used) == HUGE_VAL);
  CHECK(read("-inf", used) == -HUGE_VAL);
  CHECK(read("1e999", used) == HUGE_VAL);
  CHECK(read("1e-999", used) == 0);
}

TEST_CASE("a length of time is one with colons or with units", "[ingest][number]") {
  CHECK(seconds_of_duration("0:01:02") == 62);
  CHECK(seconds_of_duration("01:02") == 62);
  CHECK(seconds_of_duration("2 days, 1:02:03.5") == 2 * 86400 + 3723.5);
  CHECK(seconds_of_duration("1d 2h 3m 4s") == 86400 + 7384);
  CHECK(seconds_of_duration("31s") == 31);
  for (const auto* text :
       {"", "7", "2024-05-01 12:00:00", "12:", "1h 2x", "5 s 3", "1:2 h", "-1:02"})
    CHECK_FALSE(seconds_of_duration(text));
}

TEST_CASE("a string is a number with commas and quotes, or it is none", "[ingest][number]") {
  CHECK(to_number("7,615,616,512") == 7615616512.0);
  CHECK(to_number(" '3.25' ") == 3.25);
  CHECK(to_number("2.035e+04") == 20350);
  CHECK_FALSE(to_number("12GB"));
  CHECK_FALSE(to_number("None"));
  CHECK_FALSE(to_number(""));
}

}  // namespace orch::ingest
