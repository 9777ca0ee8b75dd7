#include "core/plan/experiment/loader.h"

#include "tests/test.h"

// What the golden cases do not cover: values before they are planned, and filters.

using namespace orch;
using namespace orch::experiment;
using plan::Value;

namespace {

plan::StrategyPtr ddp() {
  plan::Strategy strategy;
  strategy.name = "ddp";
  strategy.backend = "ddp";
  plan::Param compression;
  compression.name = "compression";
  compression.type = plan::ParamType::choice;
  compression.choices = {"none", "powersgd"};
  compression.default_value = std::string("none");
  plan::Param rank;
  rank.name = "powersgd_rank";
  rank.default_value = std::int64_t{1};
  rank.min = 1;
  rank.max = 1024;
  rank.parent = "compression";
  rank.choice = "powersgd";
  strategy.params = {compression, rank};
  return std::make_shared<const plan::Strategy>(strategy);
}

fs::path models() { return fs::path(ORCH_SOURCE_DIR) / "experiments/models.lua"; }

std::string with(const std::string& strategy) {
  return "return experiment { model = 'gpt-1.3b', hardware = { cluster = 'x', gpus = 8 }, "
         "strategies = { " +
         strategy + " } }";
}

Result<Value> nothing(std::string_view) { return Value(); }

}  // namespace

TEST_CASE("a choice with parameters is one axis, a row per combination", "[experiment]") {
  Loader loader({ddp()}, {models()});
  const auto text = with("ddp { compression = { 'none', powersgd { rank = { 1, 4 } } } }");
  const auto experiment = loader.parse(text, "x.lua");
  REQUIRE(experiment);
  const auto& axes = experiment->strategies.front().space.axes;
  REQUIRE(axes.size() == 1);
  CHECK(axes[0].fields == std::vector<std::string>{"compression", "powersgd_rank"});
  CHECK(axes[0].points ==
        std::vector<std::vector<Value>>{{Value("none"), Value()},
                                        {Value("powersgd"), Value(std::int64_t{1})},
                                        {Value("powersgd"), Value(std::int64_t{4})}});
}

TEST_CASE("zip pairs its lists in one axis", "[experiment]") {
  Loader loader({ddp()}, {models()});
  const auto experiment =
      loader.parse(with("ddp { zip { micro_batch = { 1, 2 }, accumulate = { 8, 4 } } }"), "x.lua");
  REQUIRE(experiment);
  const auto& axes = experiment->strategies.front().space.axes;
  REQUIRE(axes.size() == 1);
  CHECK(axes[0].points.size() == 2);
}

TEST_CASE("a function reads other fields through the record", "[experiment]") {
  Loader loader({ddp()}, {models()});
  const auto experiment =
      loader.parse(with("ddp { accumulate = function(r) return 8 * r.gpus end }"), "x.lua");
  REQUIRE(experiment);
  const auto& derived = experiment->strategies.front().space.derived;
  REQUIRE(derived.size() == 1);
  const auto value = derived[0].value([](std::string_view field) -> Result<Value> {
    CHECK(field == "gpus");
    return Value(std::int64_t{3});
  });
  CHECK(*value == Value(std::int64_t{24}));
}

TEST_CASE("after a function without an end no other is called", "[experiment]") {
  Loader loader({ddp()}, {models()});
  const auto experiment = loader.parse(with("ddp { accumulate = function(r) while true do end end, "
                                            "micro_batch = function(r) return 1 end }"),
                                       "x.lua");
  REQUIRE(experiment);
  const auto& derived = experiment->strategies.front().space.derived;
  REQUIRE(derived.size() == 2);
  const auto first = derived[0].value(nothing);
  REQUIRE_FALSE(first);
  CHECK_THAT(first.error().front().fact, ContainsSubstring("endless loop"));
  const auto second = derived[1].value(nothing);
  REQUIRE_FALSE(second);
  CHECK(second.error() == first.error());
}

TEST_CASE("files of training are named as they were asked for", "[experiment][training]") {
  Loader loader({ddp()}, {models()});
  const auto parse = [&](const std::string& training, const std::string& file) {
    auto text = with("ddp {}");
    text.insert(text.rfind('}'), ", training = { " + training + " }");
    return loader.parse(text, file);
  };
  const auto beside = parse("data = '../corpus/text', init = 'best', seed = 3", "/home/me/x.lua");
  REQUIRE(beside);
  CHECK(beside->trainings.front().data == "../corpus/text");
  CHECK(beside->trainings.front().init == "best");
  CHECK(beside->trainings.front().seed == 3);
  CHECK(beside->trainings.front().clip == 1.0);
  CHECK(parse("data = '/corpus/text'", "/home/me/x.lua")->trainings.front().data == "/corpus/text");
  CHECK(parse("data = ''", "/home/me/x.lua")->trainings.front().data.empty());  // synthetic tokens
}

TEST_CASE("a filter is true, false, or false for want of a value", "[experiment]") {
  Loader loader({ddp()}, {models()});
  const auto filter = loader.filter("rank and rank > 2");
  REQUIRE(filter);
  const auto keep = [&](Value rank) {
    return *(*filter)([&](std::string_view) -> Result<Value> { return rank; });
  };
  CHECK(keep(Value(std::int64_t{4})));
  CHECK_FALSE(keep(Value(std::int64_t{1})));
  CHECK_FALSE(keep(Value()));
}

TEST_CASE("a filter sees the run and nothing else", "[experiment]") {
  Loader loader({ddp()}, {models()});
  const auto filter = loader.filter("os == nil and experiment == nil");
  REQUIRE(filter);
  CHECK(*(*filter)(nothing));
}

TEST_CASE("the presets come in the order of their names, each with all its sizes", "[experiment]") {
  Loader loader({ddp()}, {models()});
  const auto presets = loader.presets();
  REQUIRE(presets);
  REQUIRE(presets->size() > 30);
  for (std::size_t i = 0; i < presets->size(); ++i) {
    const auto& model = (*presets)[i];
    INFO(model.name);
    if (i > 0) CHECK((*presets)[i - 1].name < model.name);
    CHECK(model.params() > 0);
    CHECK(model.hidden % model.heads == 0);
  }
}

TEST_CASE("a models file that is broken is named in the error", "[experiment]") {
  Loader loader({ddp()}, {"/no/such/models.lua"});
  const auto experiment = loader.parse(with("ddp {}"), "x.lua");
  REQUIRE_FALSE(experiment);
  CHECK(experiment.error().front().place == "/no/such/models.lua");
}
