#include "core/plan/stack.h"

#include "core/plan/family.h"
#include "tests/test.h"

using namespace orch::plan;

namespace {

StackPtr stack(const char* name, const char* date, std::vector<std::string> runs, double gemm = 1,
               bool tuned = true) {
  Stack made;
  made.name = name;
  made.date = date;
  made.runs = std::move(runs);
  made.tuned = tuned;
  made.constants["gemm"] = {gemm, "fitted: 9 rows"};
  return std::make_shared<const Stack>(made);
}

Run run_of(const Partition& partition, const char* strategy, const std::string& engine) {
  auto made = std::make_shared<Strategy>();
  made->name = strategy;
  made->backend = "zero3";
  made->params.push_back({"engine", "", ParamType::text, {}, {}, 0, 0, {}, {}});
  Run run;
  run.strategy = made;
  run.settings = {engine};
  run.partition = &partition;
  run.stack = default_stack(run);
  return run;
}

// An A100 of 2020, and software of three years.
Partition machine() {
  Partition made;
  made.gpu.released = 2020;
  made.efficiency.gemm = {0.8, "datasheet"};
  for (const auto& each :
       {stack("fsdp-2023", "2023-04", {"fsdp/framework"}, 0.9),
        stack("deepspeed-2021", "2021-05", {"deepspeed/framework"}),
        stack("deepspeed-2022", "2022-07", {"deepspeed/framework"}),
        stack("diary", "2022-01", {"fsdp/framework"}, 0.2, false),
        stack("fsdp-2025", "2025-01", {"fsdp/framework"}), stack("ours", "2026", {"fsdp/orch"})})
    made.stacks.push_back({each, std::make_shared<const Partition>(on_stack(made, each))});
  return made;
}

std::string name_of(const Run& run) {
  const auto* found = stack_of(run);
  return found ? found->stack->name : "";
}

}  // namespace

TEST_CASE("strategies on one machine are priced in software of one time", "[plan][stack]") {
  const auto partition = machine();
  CHECK(name_of(run_of(partition, "fsdp", "framework")) == "fsdp-2023");
  CHECK(name_of(run_of(partition, "deepspeed", "framework")) == "deepspeed-2022");
  CHECK(name_of(run_of(partition, "fsdp", "orch")) == "ours");
  CHECK(name_of(run_of(partition, "megatron", "orch")).empty());
  auto newer = partition;
  newer.gpu.released = 2023;
  for (auto& each : newer.stacks)
    each.partition = std::make_shared<const Partition>(on_stack(newer, each.stack));
  CHECK(name_of(run_of(newer, "fsdp", "framework")) == "fsdp-2025");
  newer.gpu.released = 0;  // not known: the newest
  for (auto& each : newer.stacks)
    each.partition = std::make_shared<const Partition>(on_stack(newer, each.stack));
  CHECK(name_of(run_of(newer, "deepspeed", "framework")) == "deepspeed-2022");
}

TEST_CASE("a stack that is named is taken, if it is known", "[plan][stack]") {
  const auto partition = machine();
  auto run = run_of(partition, "fsdp", "framework");
  run.stack = "diary";
  CHECK(name_of(run) == "diary");
  run.stack = "our own fork";
  CHECK(name_of(run) == "fsdp-2023");
}

TEST_CASE("the stack of a framework counts before those of its engine", "[plan][stack]") {
  auto partition = machine();
  for (const auto& each :
       {stack("torch-2026", "2026", {"fsdp/torch", "ddp/torch"}),
        stack("torchtitan-2026", "2026", {"fsdp/torchtitan"}),
        stack("untuned", "2026", {"fsdp/hf-fsdp"}, 1, false), stack("any", "2010", {"fsdp"})})
    partition.stacks.push_back(
        {each, std::make_shared<const Partition>(on_stack(partition, each))});
  const auto by = [&](const char* framework) {
    auto run = run_of(partition, "fsdp", "framework");
    run.framework = framework;
    run.stack = default_stack(run);
    return name_of(run);
  };
  CHECK(by("torch") == "torch-2026");
  CHECK(by("torch@2.11") == "torch-2026");
  CHECK(by("torchtitan@0.2.2") == "torchtitan-2026");
  CHECK(by("hf-fsdp@5") == "fsdp-2023");  // has none of its own
  CHECK(by("") == "fsdp-2023");
}

// Like the shipped ones: five rows of a 175B, many of 0.1 to 65B, and a diary's of 7B on this
// machine.
TEST_CASE("the stack whose rows are nearest prices a run", "[plan][stack]") {
  Partition partition;
  partition.gpu.name = "a100-80g";
  partition.gpu.released = 2020;
  partition.seen.stacks = {"diary"};
  const auto add = [&](const char* name, const char* date, bool tuned, SeenRanges::Span gpus,
                       SeenRanges::Span params, const char* gpu = "a100-80g") {
    Stack made = *stack(name, date, {"fsdp/framework"}, 1, tuned);
    made.seen.rows = 9;
    made.seen.gpus = gpus;
    made.seen.params = params;
    made.seen.devices[gpu] = {gpus, params};
    const auto shared = std::make_shared<const Stack>(made);
    partition.stacks.push_back(
        {shared, std::make_shared<const Partition>(on_stack(partition, shared))});
  };
  add("large", "2023-04", true, {128, 512}, {175e9, 175e9});
  add("small", "2023-10", true, {8, 128}, {0.1e9, 65e9});
  add("small-elsewhere", "2022-01", true, {8, 128}, {0.1e9, 65e9}, "h100-80g");
  add("diary", "2022-01", false, {2, 32}, {7e9, 7e9});
  const auto run = [&](std::int64_t gpus, std::int64_t layers, std::int64_t hidden) {
    auto made = run_of(partition, "fsdp", "framework");
    made.gpus = gpus;
    made.model = sized("gpt", "", layers, hidden, hidden / 128, 50257, 2048);
    made.batch = {1, 1, gpus, {}};
    return made;
  };
  const auto of_13b = run(16, 40, 5120), of_175b = run(384, 96, 12288), of_7b = run(48, 32, 4096);
  CHECK(name_of(of_13b) == "small");
  CHECK(name_of(of_175b) == "large");
  CHECK(name_of(of_7b) == "small");  // untuned software is never a default

  const auto beside = witnesses(of_7b, *stack_of(of_7b));
  REQUIRE(beside.size() == 1);
  CHECK(beside.front().on->stack->name == "diary");
  CHECK(beside.front().here);
  CHECK(beside.front().nearer);
  CHECK(witnesses(of_175b, *stack_of(of_175b)).empty());  // 25 times as large as the diary's
  auto named = of_7b;
  named.stack = "large";
  CHECK(witnesses(named, *stack_of(named)).empty());
}

TEST_CASE("GPUs of one chip are near each other, those of one brand are not", "[plan][stack]") {
  const auto farness_on = [&](const char* here, const char* there) {
    Partition partition;
    partition.gpu.name = here;
    partition.gpu.released = 2020;
    Stack made = *stack("a", "2022-01", {"fsdp/framework"}, 1, true);
    made.seen.rows = 9;
    made.seen.gpus = {8, 64};
    made.seen.params = {1e9, 100e9};
    made.seen.devices[there] = {made.seen.gpus, made.seen.params};
    const auto shared = std::make_shared<const Stack>(made);
    auto run = run_of(partition, "fsdp", "framework");
    run.gpus = 16;
    run.model = sized("gpt", "", 40, 5120, 40, 50257, 2048);
    return farness(run, {shared, std::make_shared<const Partition>(on_stack(partition, shared))});
  };
  const double same = farness_on("a100-80g", "a100-80g");
  CHECK(farness_on("a100-pcie-40g", "a100-80g") == same);
  CHECK(farness_on("h100-80g", "a100-80g") > same);
  CHECK(farness_on("rtx-4090", "rtx-4090") == same);
  CHECK(farness_on("rtx-4090", "rtx-a6000") > same);
  CHECK(farness_on("rtx-a6000-48g", "rtx-a6000") == same);
  CHECK(farness_on("pvc", "pvc-48g") > same);  // no digits, so the end of its name is unknown
}

TEST_CASE("factors are on the machine's constants", "[plan][stack]") {
  const auto partition = machine();
  const auto& at = priced_at(run_of(partition, "fsdp", "framework"));
  CHECK(at.efficiency.gemm.value == Approx(0.72));
  CHECK(at.on->name == "fsdp-2023");
  CHECK(&priced_at(run_of(partition, "megatron", "orch")) == &partition);
  const auto most = on_stack(partition, stack("fast", "2025", {}, 2));
  CHECK(most.efficiency.gemm.value == 1);  // limited by the peak
  // In plans limited by what a product reaches; what a machine is known to reach stays.
  CHECK(planned_on_stack(partition, stack("fast", "2025", {}, 2)).efficiency.gemm.value == 0.9);
  auto better = partition;
  better.efficiency.gemm.value = 0.95;
  CHECK(planned_on_stack(better, stack("fast", "2025", {}, 2)).efficiency.gemm.value == 0.95);
}

// 0.04 and 0.06 from rows; an unmeasured machine adds its doubt.
TEST_CASE("the spread is that of machine and stack", "[plan][stack]") {
  Partition partition;
  partition.efficiency.time_spread = {0.04, "fitted: 9 rows"};
  Stack known;
  known.seen.rows = 9;
  known.constants["time_spread"] = {0.06, "fitted: 9 rows"};
  const auto spread = [](const Partition& machine, const Stack& stack) {
    return on_stack(machine, std::make_shared<const Stack>(stack)).efficiency.time_spread.value;
  };
  CHECK(spread(partition, known) == 0.06);
  partition.efficiency.time_spread = {0.15, "assumed"};
  CHECK(spread(partition, known) == Approx(std::hypot(0.06, 0.2)));
  CHECK(spread(partition, Stack()) == Approx(std::hypot(0.2, 0.45)));
}

TEST_CASE("software on a machine where it was never seen is doubted, though both were",
          "[plan][stack]") {
  Partition partition;
  partition.efficiency.time_spread = {0.04, "fitted: 9 rows"};
  partition.seen.stacks = {"other-2022"};
  Stack known;
  known.name = "some-2022";
  known.constants["time_spread"] = {0.06, "fitted: 9 rows"};
  const auto spread = [&] {
    return on_stack(partition, std::make_shared<const Stack>(known)).efficiency.time_spread.value;
  };
  CHECK(spread() == Approx(std::hypot(0.06, 0.25)));
  partition.seen.stacks.push_back("some-2022");
  CHECK(spread() == 0.06);
}

TEST_CASE("dates are years", "[plan][stack]") {
  CHECK(years_of("2022-01") == 2022);
  CHECK(years_of("2022-07-14") == 2022.5);
  CHECK(years_of("2022") == Approx(2022.458).epsilon(1e-6));
  CHECK(years_of("") == 0);
}
