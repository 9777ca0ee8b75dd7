#include "core/price/measure/measurement.h"

#include "tests/price/measure/recorded.h"
#include "tests/test.h"

namespace orch::measure {
namespace {

std::string replaced(const std::string& from, const std::string& to) {
  auto text = kRecorded;
  const auto at = text.find(from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

std::string complaint(const std::string& text) {
  const auto read = parse_measurement(text, "orch-measure");
  return read ? "" : orch::text(read.error());
}

TEST_CASE("what orch-measure says is read", "[machine]") {
  const auto read = parse_measurement(kRecorded, "orch-measure");
  REQUIRE(read);
  CHECK(read->ranks == 2);
  CHECK(read->context == 150e6);
  CHECK(read->products.size() == 2);
  CHECK(read->products[1].flops() == 2e9);
  CHECK(read->layer.params() == 12 * 128 * 128 + 13 * 128);
  REQUIRE(read->pass("copy"));
  CHECK(read->pass("copy")->bytes == 8e6);
  CHECK_FALSE(read->pass("nothing"));
  CHECK(read->copies.empty());
}

TEST_CASE("a measurement that cannot be is refused with the field", "[machine]") {
  CHECK_THAT(complaint(""), ContainsSubstring("orch-measure: "));
  CHECK_THAT(complaint(kRecorded.substr(0, 300)), ContainsSubstring("is not JSON"));
  CHECK_THAT(complaint(replaced("\"version\": 1", "\"version\": 2")),
             ContainsSubstring("version is not 1"));
  CHECK_THAT(complaint(replaced("\"ranks\": 2", "\"ranks\": 0")), ContainsSubstring("ranks is 0"));
  CHECK_THAT(complaint(replaced("\"seconds\": 5.0e-5", "\"seconds\": 0")),
             ContainsSubstring("seconds is 0"));
  CHECK_THAT(complaint(replaced("\"seconds\": 1e-3", "\"seconds\": -1")),
             ContainsSubstring("seconds is -1"));
  CHECK_THAT(complaint(replaced("\"device\": \"cpu\"", "\"device\": \"tpu\"")),
             ContainsSubstring("neither cpu nor cuda"));
  CHECK_THAT(complaint(replaced("\"copies\": []", "\"copy\": []")), ContainsSubstring("copies"));
}

}  // namespace
}  // namespace orch::measure
