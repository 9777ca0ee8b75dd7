#include "core/record/quantities.h"

#include "core/base/units.h"
#include "core/plan/vocabulary.h"
#include "core/record/records_json.h"
#include "tests/test.h"

using namespace orch;
using namespace orch::record;

TEST_CASE("a field and a quantity have one name each, and no two share one", "[record]") {
  std::set<std::string_view> names;
  for (const auto& term : plan::vocabulary()) CHECK(names.insert(term.name).second);
  for (const auto& quantity : quantities()) {
    INFO(quantity.name);
    CHECK(names.insert(quantity.name).second);
    CHECK((quantity.estimated || !quantity.planned));
    CHECK_FALSE(quantity.title.empty());
    CHECK_FALSE(quantity.head.empty());
  }
}

TEST_CASE("a quantity is read from members, or from what the source states", "[record]") {
  Record record;
  const auto& memory = *find_quantity("peak_memory_bytes");
  const auto& bubble = *find_quantity("bubble");
  CHECK_FALSE(measured(memory, record));
  CHECK_FALSE(estimated(memory, record));
  record.measured.peak_memory_bytes = 3 * kGiB;
  record.measured.stated["bubble"] = 0.25;
  record.estimated.emplace().peak_memory = 4 * kGiB;
  record.estimated->memory_low = 3.5 * kGiB;
  record.estimated->memory_high = 5 * kGiB;
  CHECK(measured(memory, record)->value == 3 * kGiB);
  CHECK(in_unit(memory.unit, measured(memory, record)->value) == 3);
  CHECK(estimated(memory, record)->low == 3.5 * kGiB);
  CHECK(estimated(memory, record)->high == 5 * kGiB);
  CHECK(measured(bubble, record)->value == 0.25);
  CHECK(in_unit(bubble.unit, 0.25) == 25);
  CHECK_FALSE(estimated(bubble, record));
}

TEST_CASE("days to train have the range of the step", "[record]") {
  plan::Estimate guess;
  guess.step_seconds = 2;
  guess.step_low = 1.5;
  guess.step_high = 3;
  guess.days_to_train = 10;
  const auto days = estimated(*find_quantity("days_to_train"), guess);
  REQUIRE(days);
  CHECK(days->low == 7.5);
  CHECK(days->high == 15);
}

TEST_CASE("a live run is measured as a record is", "[record]") {
  Measurement found;
  found.tokens_per_second = 1e11 / kDay / 40;  // 40 days per 100B
  found.stated["communicated_bytes"] = 4096;
  const auto days = measured(*find_quantity("days_per_100b_tokens"), found);
  CHECK(days->value > 39.999);
  CHECK(days->value < 40.001);
  CHECK_FALSE(measured(*find_quantity("peak_memory_bytes"), found));
  CHECK(measured(*find_quantity("communicated_bytes"), found)->value == 4096);
}

TEST_CASE("JSON has every quantity, and gives it back", "[record]") {
  Record record;
  record.id = "a";
  record.measured.stated["bubble"] = 0.25;
  record.measured.tflops.push_back({150, "megatron", true});
  record.estimated.emplace().communicated = 4096;
  const auto read = parse_records_json(records_json({record}), "x.json");
  REQUIRE(read);
  for (const auto& quantity : quantities()) {
    INFO(quantity.name);
    const auto before = measured(quantity, record), after = measured(quantity, read->front());
    CHECK(before.has_value() == after.has_value());
    if (before && after) CHECK(before->value == after->value);
    const auto guess = estimated(quantity, record), again = estimated(quantity, read->front());
    CHECK(guess.has_value() == again.has_value());
    if (guess && again) CHECK(guess->value == again->value);
  }
}
