#include "core/record/ingest/nesting.h"

#include "tests/test.h"

namespace orch::ingest {
namespace {

const std::vector<std::string> kVision{"vision_config"};

// True if a word of the last line is in the object. The earlier lines are taken first.
bool is_in(const std::vector<std::string>& lines, const std::string& word) {
  Nesting nesting;
  for (std::size_t i = 0; i + 1 < lines.size(); ++i) nesting.take(lines[i]);
  return NestingPlace(nesting, lines.back()).is_in(lines.back().find(word), kVision);
}

}  // namespace

TEST_CASE("an object of a dump is open until it is closed", "[ingest][nesting]") {
  CHECK(is_in({"Model config Tiny {", "  \"vision_config\": {", "    \"hidden\": 1"}, "hidden"));
  CHECK(is_in({"{", "  \"vision_config\": {", "    \"more\": {", "      \"hidden\": 1"}, "hidden"));
  CHECK_FALSE(is_in({"{", "  \"vision_config\": {", "  },", "  \"hidden\": 1"}, "hidden"));
  CHECK(is_in({"args(", "  vision_config=Config(", "    hidden=1,"}, "hidden"));
}

TEST_CASE("a line at the margin ends a dump that was cut", "[ingest][nesting]") {
  CHECK_FALSE(
      is_in({"{", "  \"vision_config\": {", "training begins", "  \"hidden\": 1"}, "hidden"));
}

TEST_CASE("an object may be in one line", "[ingest][nesting]") {
  CHECK(is_in({"{'vision_config': {'deep': {}, 'hidden': 1}}"}, "hidden"));
  CHECK_FALSE(is_in({"{'vision_config': {'deep': {}}, 'hidden': 1}"}, "hidden"));
  CHECK(is_in({"model=Model(vision_config=Config(hidden=1))"}, "hidden"));
}

TEST_CASE("a place in a line moves on, into an object and out of it", "[ingest][nesting]") {
  const std::string line = "{'a': 1, 'vision_config': {'b': 2}, 'c': 3}";
  NestingPlace place(Nesting(), line);
  CHECK_FALSE(place.is_in(line.find("'a'"), kVision));
  CHECK(place.is_in(line.find("'b'"), kVision));
  CHECK_FALSE(place.is_in(line.find("'c'"), kVision));
}

TEST_CASE("brackets without end are only counted so deep", "[ingest][nesting]") {
  Nesting nesting;
  for (int i = 0; i < 1000; ++i) nesting.take(" ((((((((((((");
  CHECK_FALSE(NestingPlace(nesting, " x").is_in(1, kVision));
}

}  // namespace orch::ingest
