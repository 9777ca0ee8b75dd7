#include "core/base/flat_settings.h"

#include "tests/test.h"

using namespace orch;

namespace {

FlatSettings flat(const std::string& file, const std::string& text) {
  const auto settings = flat_settings(file, text);
  REQUIRE(settings);
  return *settings;
}

}  // namespace

TEST_CASE("JSON, TOML and YAML become the same settings", "[base][settings]") {
  const FlatSettings wanted{{"a.b", "3"}, {"a.c", "x y"}, {"a.d", "0.9,0.95"}, {"e", "true"}};
  CHECK(flat("x.json", R"({"a": {"b": 3, "c": "x y", "d": [0.9, 0.95]}, "e": true, "f": null})") ==
        wanted);
  auto toml =
      flat("x.toml", "e = true\n# none\n[a]\nb = 3 # three\nc = \"x y\"\nd = [0.9, 0.95]\n");
  std::rotate(toml.begin(), toml.begin() + 1, toml.end());
  CHECK(toml == wanted);
  CHECK(flat("x.yaml", "a:\n  b: 3\n  c: 'x y' # text\n  d: [0.9, 0.95]\ne: true\nf: null\n") ==
        wanted);
}

TEST_CASE("a file without an ending is read by its content", "[base][settings]") {
  CHECK(flat("ds_config", "{\"a\": 1}") == FlatSettings{{"a", "1"}});
  CHECK(flat("run", "[a]\nb = 1") == FlatSettings{{"a.b", "1"}});
  CHECK(flat("fsdp", "a:\n  b: 1") == FlatSettings{{"a.b", "1"}});
  const auto broken = flat_settings("ds.json", "{\"a\": 1,}");
  REQUIRE_FALSE(broken);
  CHECK(broken.error().front().text() ==
        "ds.json: not a JSON object\n  check its commas and braces");
}
