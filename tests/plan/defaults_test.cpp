#include "core/plan/defaults.h"

#include "core/plan/run_id.h"
#include "core/plan/setting.h"
#include "core/plan/stack.h"
#include "tests/plan/support.h"
#include "tests/test.h"

namespace orch::plan {
namespace {

using Names = std::vector<std::string>;

// An experiment without flash_attention, unless it is given.
struct RequestedSettings {
  std::int64_t released = 2020;
  std::string dtype = "bf16";
  std::string framework = {};
  std::string stack = {}, strategys_stack = {};
  std::optional<bool> given = {};
};

void add_stack(const std::string& name, const Names& seen, Partition& partition) {
  auto stack = std::make_shared<Stack>();
  stack->name = name;
  if (!seen.empty()) stack->seen.settings["flash_attention"] = seen;
  partition.stacks.push_back({stack, std::make_shared<const Partition>(partition)});
}

std::shared_ptr<const Cluster> cluster_of(std::int64_t released) {
  auto made = std::make_shared<Cluster>(*test::cluster());
  auto& partition = made->partitions.front();
  partition.gpu.released = released;
  partition.gpu.peaks["tf32"].value = 156e12;
  add_stack("old", {"false"}, partition);
  add_stack("some", {"false", "true"}, partition);
  add_stack("never-measured", {}, partition);
  return made;
}

StrategyPtr strategy_with_attention() {
  auto made = *test::strategy();
  // Asked for before the dtype that it depends on.
  made.params.push_back(Flag{"flash_attention", "", false});
  made.params.push_back(ChoiceSetting{"dtype", "", {"bf16", "fp16", "fp32", "tf32"}});
  return std::make_shared<const Strategy>(made);
}

Run planned(const RequestedSettings& asked) {
  auto experiment = test::experiment();
  experiment.stack = asked.stack;
  auto& strategy = experiment.strategies.front();
  strategy.strategy = strategy_with_attention();
  strategy.framework = asked.framework;
  strategy.stack = asked.strategys_stack;
  strategy.space.axes.push_back(test::axis("dtype", {asked.dtype}));
  if (asked.given) strategy.space.axes.push_back(test::axis("flash_attention", {*asked.given}));
  const auto cluster = cluster_of(asked.released);
  const auto plan = expand(
      experiment, [&](std::string_view) { return Result<std::shared_ptr<const Cluster>>(cluster); },
      [](const Run&, std::vector<Error>&, std::vector<Error>&) {});
  if (!plan) throw std::runtime_error(text(plan.error()));
  return plan->runs.at(0);
}

bool flash(const RequestedSettings& asked) {
  return planned(asked).setting("flash_attention") == Value(true);
}

}  // namespace

TEST_CASE("flash attention is the default where the GPU has it, in 16 bits", "[plan][defaults]") {
  CHECK(flash({.released = 2020}));
  CHECK(flash({.released = 2024}));
  CHECK(flash({.dtype = "fp16"}));
  CHECK_FALSE(flash({.released = 2018}));
  CHECK_FALSE(flash({.released = 0}));  // a CPU, or an unknown GPU
  CHECK_FALSE(flash({.dtype = "fp32"}));
  CHECK_FALSE(flash({.dtype = "tf32"}));
}

TEST_CASE("flash attention is no default of a trainer that lacks it", "[plan][defaults]") {
  CHECK(flash({.framework = "megatron-lm@0.12"}));
  CHECK(flash({.framework = "megatron-deepspeed@0.16"}));
  CHECK_FALSE(flash({.framework = "megatron-deepspeed-bloom"}));
  CHECK(flash({.stack = "some"}));
  CHECK(flash({.stack = "never-measured"}));
  CHECK_FALSE(flash({.stack = "old"}));
  CHECK_FALSE(flash({.stack = "some", .strategys_stack = "old"}));
  CHECK(flash({.stack = "old", .strategys_stack = "some"}));
}

TEST_CASE("flash attention that is given is as given", "[plan][defaults]") {
  CHECK_FALSE(flash({.given = false}));
  CHECK(flash({.released = 2018, .given = true}));
  CHECK(flash({.dtype = "fp32", .given = true}));
  CHECK(flash({.stack = "old", .given = true}));
}

TEST_CASE("tables name flash attention where it is not the run's default", "[plan][defaults]") {
  CHECK(variant(planned({})).empty());
  CHECK(variant(planned({.given = true})).empty());
  CHECK(variant(planned({.given = false})) == "flash_attention=false");
  CHECK(variant(planned({.released = 2018})).empty());
  CHECK(variant(planned({.released = 2018, .given = true})) == "flash_attention=true");
  CHECK(variant(planned({.stack = "old", .given = true})) == "flash_attention=true");
}

// From the time when false was the default everywhere.
TEST_CASE("a run that is given flash attention or none is called as ever", "[plan][defaults][id]") {
  const auto none = planned({.released = 2018}), some = planned({.released = 2018, .given = true});
  CHECK(label(none).find("flash") == std::string::npos);
  CHECK(run_id(planned({.given = false})) == run_id(none));
  CHECK(run_id(planned({.given = true})) == run_id(some));
  CHECK(run_id(planned({})) == run_id(some));
}

}  // namespace orch::plan
