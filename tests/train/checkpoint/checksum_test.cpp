#include "core/train/checkpoint/checksum.h"

#include <catch2/catch_test_macros.hpp>

using namespace orch::checkpoint;

TEST_CASE("checksums are XXH64's published values", "[checkpoint]") {
  // From the tests of github.com/cespare/xxhash, and of the reference for the empty text.
  CHECK(checksum("") == 0xef46db3751d8e999);
  CHECK(checksum("a") == 0xd24ec4f1a98c6e5b);
  CHECK(checksum("as") == 0x1c330fb2d66be179);
  CHECK(checksum("asd") == 0x631c37ce72a97393);
  CHECK(checksum("asdf") == 0x415872f599cea71e);
  CHECK(checksum("Call me Ishmael. Some years ago--never mind how long precisely-") ==
        0x02a2e85470d6fd96);
}

TEST_CASE("a checksum does not depend on how the bytes come", "[checkpoint]") {
  const std::string all = "Call me Ishmael. Some years ago--never mind how long precisely-";
  for (std::size_t first = 0; first <= all.size(); ++first)
    for (std::size_t second = first; second <= all.size(); second += 7) {
      const auto bytes = std::as_bytes(std::span(all));
      Checksum sum;
      sum.add(bytes.first(first));
      sum.add(bytes.subspan(first, second - first));
      sum.add(bytes.subspan(second));
      REQUIRE(sum.value() == 0x02a2e85470d6fd96);
    }
}

TEST_CASE("a checksum as text comes back", "[checkpoint]") {
  CHECK(hex(0x02a2e85470d6fd96) == "02a2e85470d6fd96");
  CHECK(parse_hex("02a2e85470d6fd96") == 0x02a2e85470d6fd96);
  CHECK_FALSE(parse_hex("2a2e85470d6fd96"));
  CHECK_FALSE(parse_hex("02a2e85470d6fd9g"));
}
