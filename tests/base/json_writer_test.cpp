#include "core/base/json_writer.h"

#include <catch2/catch_test_macros.hpp>
#include <nlohmann/json.hpp>

using namespace orch;
using nlohmann::json;

TEST_CASE("what is written reads back the same in another JSON library", "[base][json]") {
  const std::string hostile = "a\"b\\c\n\t\x01 é </script>";
  JsonWriter to;
  to.begin()
      .field("text", hostile)
      .field("whole", std::int64_t{-7})
      .field("real", 0.1)
      .field("large", 3e11)
      .field("flag", true)
      .null("nothing")
      .begin("inner")
      .end()
      .begin_list("list")
      .item("x")
      .item(hostile)
      .end_list();
  const auto read = json::parse(std::move(to.end()).text());
  CHECK(read == json{{"text", hostile},
                     {"whole", -7},
                     {"real", 0.1},
                     {"large", 3e11},
                     {"flag", true},
                     {"nothing", nullptr},
                     {"inner", json::object()},
                     {"list", {"x", hostile}}});
}
