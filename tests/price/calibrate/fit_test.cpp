#include "core/price/calibrate/fit.h"

#include "core/plan/family.h"
#include "core/price/estimate/estimate.h"
#include "tests/test.h"

using namespace orch;
using calibrate::Observation;

namespace {

// Two nodes of 4 GPUs. A send between them depends on no fitted constant.
plan::Partition partition() {
  plan::Partition made;
  made.name = "toy";
  made.gpus_per_node = 4;
  made.nodes = 100;
  made.gpu.peaks["bf16"].value = 100e12;
  made.gpu.memory_bandwidth.value = 1e12;
  made.gpu.usable_memory.value = 80e9;
  made.gpu.context_memory.value = 1e9;
  made.intra_node = {{100e9, ""}, {0, ""}, {0.5, ""}};
  made.network = {{10e9, ""}, {0, ""}, {0.5, ""}};
  made.pcie = {{10e9, ""}, {0, ""}, {0.5, ""}};
  made.host_memory.value = 1e12;
  made.host_memory_bandwidth.value = 100e9;
  auto& efficiency = made.efficiency;
  efficiency.gemm.value = 0.5;
  efficiency.attention.value = 0.3;
  efficiency.attention_unaligned.value = 0.1;
  efficiency.memory.value = 0.5;
  efficiency.layer_overhead.value = 1e-3;
  efficiency.step_overhead.value = 0.1;
  efficiency.allocator_slack.value = 0.05;
  efficiency.tight.value = 0.9;
  return made;
}

// Runs with one block of operations, each a different configuration unless it is made a repeat.
class FitRows {
 public:
  explicit FitRows(plan::Partition truth) : cluster_(std::make_shared<plan::Cluster>()) {
    cluster_->partitions.push_back(std::move(truth));
    rows_.reserve(1000);  // pointers to them are kept
  }

  const plan::Partition& truth() const { return cluster_->partitions.front(); }

  Observation& add() {
    auto& row = rows_.emplace_back();
    row.source = "mine";
    auto& run = row.run;
    run.cluster = cluster_;
    run.partition = &truth();
    run.strategy = std::make_shared<const plan::Strategy>();
    run.model =
        plan::sized("gpt", "m", static_cast<std::int64_t>(rows_.size()), 1024, 8, 1000, 100);
    run.gpus = 8;
    run.nodes = 2;
    run.layout = {1, 1, 8};
    run.batch = {1, 1, 8, {}};
    row.work.blocks.push_back({"all", 0, 0});
    row.work.stage_list.push_back({0, 0, 0});
    row.work.counts = {1};
    row.work.memory.push_back({"states", "", ORCH_DEVICE, 0, 0, 10e9});
    return row;
  }

  // Measures the last row: the true value, times a factor.
  void measure(double factor = 1) {
    auto& row = rows_.back();
    row.step_seconds = factor * seconds(row, truth());
  }

  static double seconds(const Observation& row, const plan::Partition& at) {
    return estimate::Estimator().estimate(row.run, row.work, at).step_seconds;
  }

  std::vector<const Observation*> all() const {
    std::vector<const Observation*> out;
    for (const auto& row : rows_) out.push_back(&row);
    return out;
  }
  const Observation& last() const { return rows_.back(); }

 private:
  std::shared_ptr<plan::Cluster> cluster_;
  std::vector<Observation> rows_;
};

// Fits one machine whose constants start from `base`, with software that is not fitted.
plan::Calibration fit_one(const plan::Partition& base, const std::vector<const Observation*>& rows,
                          std::vector<plan::SoftwareEra> eras = {}) {
  std::vector<Observation> held;
  for (const auto* row : rows) held.push_back(*row);
  std::vector<const Observation*> all;
  for (auto& row : held) {
    row.run.partition = &base;
    all.push_back(&row);
  }
  const std::vector<calibrate::FittedMachine> machines{{{&base}, std::move(eras)}};
  return calibrate::fit(machines, {}, all, {calibrate::FitStart::datasheet, false})
      .machines.front();
}

void add_op(Observation& row, const orch_op& op) {
  row.work.ops.emplace_back(op);
  ++row.work.blocks.back().n_ops;
}

orch_op once(std::uint32_t kind) {
  orch_op op{};
  op.kind = kind;
  op.forward = 1;
  return op;
}

void gemm(Observation& row, double tera) {
  auto op = once(ORCH_GEMM);
  op.m = op.n = 1e4, op.k = tera * 1e12 / 2e8, op.batch = 1;
  add_op(row, op);
}

void moved(Observation& row, double giga) {
  auto op = once(ORCH_MEMORY);
  op.bytes = giga * 1e9;
  add_op(row, op);
}

void all_reduce(Observation& row, double giga) {
  auto op = once(ORCH_COLLECTIVE);
  op.collective = ORCH_ALL_REDUCE;
  op.bytes = giga * 1e9, op.group_size = 8, op.group_stride = 1;
  add_op(row, op);
}

// One second for each 10 GB, independent of fitted constants.
void send(Observation& row, double giga) {
  auto op = once(ORCH_COLLECTIVE);
  op.collective = ORCH_SEND;
  op.bytes = giga * 1e9, op.group_size = 8, op.group_stride = 1;
  add_op(row, op);
}

// Rows of products, memory traffic, all-reduces between nodes and layers, in many mixtures.
FitRows mixtures(const plan::Partition& truth) {
  FitRows rows(truth);
  for (int i = 0; i < 40; ++i) {
    auto& row = rows.add();
    gemm(row, i % 4 == 0 ? 400 : 40);
    moved(row, i % 4 == 1 ? 4000 : 400);
    all_reduce(row, i % 4 == 2 ? 40 : 4);
    auto overhead = once(ORCH_OVERHEAD);
    overhead.forward = i % 4 == 3 ? 8000 : 400;
    add_op(row, overhead);
    row.work.micro_batches = 1 + i % 3;
    rows.measure();
  }
  return rows;
}

plan::Partition slower() {
  auto truth = partition();
  truth.efficiency.gemm.value = 0.42;
  truth.efficiency.memory.value = 0.56;
  truth.efficiency.layer_overhead.value = 1.4e-3;
  truth.network.efficiency.value = 0.4;
  return truth;
}

}  // namespace

TEST_CASE("constants are found again in what they priced", "[fit]") {
  const auto rows = mixtures(slower());
  const auto made = fit_one(partition(), rows.all());
  const auto value = [&](const char* name) {
    REQUIRE(made.constants.contains(name));
    CHECK(made.constants.at(name).origin == "fitted: 40 rows of mine");
    return made.constants.at(name).value;
  };
  CHECK(value("gemm") == Approx(0.42).epsilon(0.01));
  CHECK(value("memory") == Approx(0.56).epsilon(0.01));
  CHECK(value("layer_overhead") == Approx(1.4e-3).epsilon(0.01));
  CHECK(value("network.efficiency") == Approx(0.4).epsilon(0.01));
  REQUIRE(made.partition);
  CHECK(made.partition->efficiency.gemm.value == value("gemm"));
  CHECK(made.partition->network.efficiency.value == value("network.efficiency"));
}

// Half of the rows are of a model with experts, and twice as slow as what they are priced by says.
TEST_CASE("mixtures of experts decide a machine's constants only where it has no other rows",
          "[fit]") {
  auto rows = mixtures(slower());
  std::vector<Observation> held;
  for (const auto* row : rows.all()) {
    held.push_back(*row);
    auto& mixture = held.emplace_back(*row);
    mixture.run.model.experts = 8;
    mixture.step_seconds *= 2;
  }
  std::vector<const Observation*> all, experts;
  for (const auto& row : held) {
    all.push_back(&row);
    if (row.run.model.mixture()) experts.push_back(&row);
  }
  CHECK(fit_one(partition(), all).constants.at("gemm").value == Approx(0.42).epsilon(0.01));
  CHECK(fit_one(partition(), experts).constants.at("gemm").value == Approx(0.21).epsilon(0.05));
}

// No attention, copies, host work or pipeline in those rows, and 0.1 s of 2 s and more per step.
TEST_CASE("what no row depends on is not in the result", "[fit]") {
  const auto rows = mixtures(slower());
  const auto made = fit_one(partition(), rows.all());
  std::set<std::string> names;
  for (const auto& [name, constant] : made.constants) names.insert(name);
  for (const char* name :
       {"attention", "attention_unaligned", "stage_overhead", "host", "pcie.efficiency",
        "intra_node.efficiency", "context_memory", "allocator_slack", "memory_spread"}) {
    CAPTURE(name);
    CHECK_FALSE(names.contains(name));
  }
  CHECK(made.partition->efficiency.attention.value == 0.3);
  CHECK(made.partition->pcie.efficiency.value == 0.5);
}

TEST_CASE("two or three rows already bring a row closer that was not fitted", "[fit]") {
  const auto base = partition();
  const auto mixed = [](FitRows& rows, double tera, double giga, double wire) {
    auto& row = rows.add();
    gemm(row, tera);
    moved(row, giga);
    all_reduce(row, wire);
    rows.measure();
  };
  FitRows held(slower());
  mixed(held, 150, 1000, 10);
  const auto error = [&](const plan::Partition& at) {
    return std::fabs(std::log(FitRows::seconds(held.last(), at) / held.last().step_seconds));
  };
  FitRows rows(slower());
  mixed(rows, 200, 500, 5);
  mixed(rows, 50, 200, 20);
  CHECK(error(*fit_one(base, rows.all()).partition) < 0.6 * error(base));
  mixed(rows, 20, 2000, 2);
  CHECK(error(*fit_one(base, rows.all()).partition) < 0.3 * error(base));
}

// Ten rows before the day took exp(0.08) times as long, ten after it did not, and no constant can
// explain it: the least of 10 ((e - 0.08) / 0.04)^2 + (e / 0.05)^2 is at 0.08 * 6250 / 6650.
TEST_CASE("an era gets the factor of its rows", "[fit]") {
  auto base = partition();
  base.efficiency.step_overhead.value = 0;
  FitRows rows(base);
  for (int i = 0; i < 20; ++i) {
    auto& row = rows.add();
    row.day = i < 10 ? "2022-02-17" : "2022-02-18";
    send(row, 100 + i);
    rows.measure(i < 10 ? std::exp(0.08) : 1);
  }
  const auto made = fit_one(base, rows.all(), {{"2022-02-18", {1, "old"}}});
  REQUIRE(made.eras.size() == 1);
  CHECK(made.eras[0].until == "2022-02-18");
  CHECK(made.eras[0].time.origin == "fitted: 20 rows of mine");
  CHECK(made.eras[0].time.value == Approx(std::exp(0.0752)).epsilon(1e-3));
  CHECK(made.era("2022-02-17") == made.eras[0].time.value);
  CHECK(made.era("2022-02-18") == 1);
}

// Five times exp(0.02) for one configuration and once exp(-0.02) for another: they balance.
TEST_CASE("repeats share the weight of one row", "[fit]") {
  FitRows rows(partition());
  const auto add = [&](double factor) {
    auto& row = rows.add();
    row.run.model.layers = factor > 1 ? 12 : 24;
    moved(row, 1000);
    rows.measure(factor);
  };
  for (int i = 0; i < 5; ++i) add(std::exp(0.02));
  add(std::exp(-0.02));
  const auto made = fit_one(partition(), rows.all());
  CHECK(made.constants.at("memory").value == Approx(0.5).epsilon(1e-3));
}

TEST_CASE("without observations nothing is calibrated", "[fit]") {
  const auto made = fit_one(partition(), {}, {{"2022-02-18", {1, ""}}});
  CHECK(made.constants.empty());
  CHECK(made.eras[0].time.value == 1);
  REQUIRE(made.partition);
  CHECK(made.partition->efficiency.gemm.value == 0.5);
  CHECK(made.partition->efficiency.time_spread.value == 0.15);
  // Nor is it with rows that have neither time nor memory.
  FitRows rows(partition());
  moved(rows.add(), 1000);
  CHECK(fit_one(partition(), rows.all()).constants.empty());
}

// The assumed spread counts as three rows.
TEST_CASE("the spread is that of the rows and of what was assumed", "[fit]") {
  auto base = partition();
  base.efficiency.step_overhead.value = 0;
  base.efficiency.time_spread.value = 0.15;
  const auto spread = [&](const std::vector<double>& logs) {
    FitRows rows(base);
    for (const auto log : logs) {
      send(rows.add(), 100);
      rows.measure(std::exp(log));
    }
    const auto made = fit_one(base, rows.all());
    CHECK(made.constants.size() == 1);
    return made.constants.at("time_spread").value;
  };
  // One row of one table, 0.1 off: sqrt((2 * (0.1 / 1.645)^2 + 3 * 0.15^2) / 4).
  CHECK(spread({0.1}) == Approx(std::sqrt((2 * 0.0036954 + 0.0675) / 4)).epsilon(1e-4));
  // Of eleven rows the tenth in order counts, whatever its sign: 0.09 / 1.645 = 0.054711.
  CHECK(spread({0, -0.01, 0.02, -0.03, 0.04, -0.05, 0.06, -0.07, 0.08, -0.09, 0.5}) ==
        Approx(std::sqrt((11 * 2 * 0.0029933 + 0.0675) / 14)).epsilon(1e-4));
  // Never below 2 %.
  base.efficiency.time_spread.value = 0.01;
  CHECK(spread({0, 0, 0}) == 0.02);
}

// Rows at +-0.05 cancel out, so that the constant stays. Each, at 1.25 of its noise, is trusted
// 1 / (1 + 1.25^2) = 0.39024; with a slope of 1 / 0.04 and the doubt 0.15 of `memory`, four decide
// 4 * 0.39024 * 625 / (4 * 0.39024 * 625 + 44.444) = 0.95643 of one constant.
TEST_CASE("fitted rows look better than new ones, and the spread knows", "[fit]") {
  auto base = partition();
  base.efficiency.step_overhead.value = 0;
  FitRows rows(base);
  for (const double log : {0.05, -0.05, 0.05, -0.05}) {
    moved(rows.add(), 1000);
    rows.measure(std::exp(log));
  }
  const auto made = fit_one(base, rows.all());
  CHECK(made.constants.at("memory").value == Approx(0.5).epsilon(1e-3));
  const double optimism = std::sqrt((4 + 0.95643) / (4 - 0.95643));  // 1.27613
  const double seen = 0.05 / 1.645 * optimism * std::sqrt(2);        // of one table
  CHECK(made.constants.at("time_spread").value ==
        Approx(std::sqrt((4 * seen * seen + 3 * 0.0225) / 7)).epsilon(1e-3));
}

// Memory is context + 1.16 times what is held, on the first stage or on the fullest one.
TEST_CASE("memory has constants of its own", "[fit]") {
  auto base = partition();
  base.efficiency.allocator_slack.value = 0.12;
  FitRows rows(base);
  for (int i = 0; i < 40; ++i) {
    auto& row = rows.add();
    row.work.stages = 2;
    row.work.stage_list[0].last = 1;
    row.memory_of = i % 2 == 0 ? orch::plan::MemoryOf::first : orch::plan::MemoryOf::fullest;
    const double held = i < 20 ? 0.5e9 + i * 0.1e9 : i * 1e9;
    row.work.memory = {{"states", "", ORCH_DEVICE, 0, 0, held},
                       {"states", "", ORCH_DEVICE, 1, 1, 1.2 * held}};
    moved(row, 1000);
    row.memory = 1.3e9 + 1.16 * (i % 2 == 0 ? held : 1.2 * held);
  }
  const auto made = fit_one(base, rows.all());
  CHECK(made.constants.at("context_memory").value == Approx(1.3e9).epsilon(0.01));
  CHECK(made.constants.at("allocator_slack").value == Approx(0.16).epsilon(0.01));
  CHECK(made.constants.contains("memory_spread"));
  CHECK_FALSE(made.constants.contains("memory"));  // no time was measured
  CHECK_FALSE(made.constants.contains("time_spread"));
  CHECK(made.partition->gpu.context_memory.value == Approx(1.3e9).epsilon(0.01));
}

TEST_CASE("a constant never leaves what it can be", "[fit]") {
  FitRows rows(partition());
  for (int i = 0; i < 20; ++i) {
    moved(rows.add(), 1000 + i);
    rows.measure(0.3);  // more than the memory's whole bandwidth
  }
  const auto made = fit_one(partition(), rows.all());
  CHECK(made.constants.at("memory").value <= 1);
}

TEST_CASE("a calibration can be put on another partition", "[fit]") {
  plan::Calibration calibration;
  calibration.constants["network.efficiency"] = {0.25, "x"};
  calibration.constants["context_memory"] = {2e9, "y"};
  const auto made = plan::calibrated(partition(), calibration);
  CHECK(made.network.efficiency.value == 0.25);
  CHECK(made.network.efficiency.origin == "x");
  CHECK(made.gpu.context_memory.value == 2e9);
  CHECK(made.efficiency.gemm.value == 0.5);
}

// Two machines of which one multiplies twice as fast as its file says, two stacks of which one
// reaches four fifths of that, and rows of every pair: each value is found in its place.
TEST_CASE("machines and stacks are told apart by rows of both", "[fit][stack]") {
  auto slow = partition(), fast = partition();
  slow.efficiency.gemm.value = 0.3, fast.efficiency.gemm.value = 0.3;
  std::vector<plan::StackPtr> stacks;
  for (const char* name : {"plain", "quick"}) {
    plan::Stack stack;
    stack.name = name;
    stacks.push_back(std::make_shared<const plan::Stack>(stack));
  }
  const std::vector<calibrate::FittedMachine> machines{{{&slow}, {}}, {{&fast}, {}}};
  const double speed[2] = {1, 1.2}, share[2] = {1, 0.7};
  FitRows rows(slow);
  std::vector<Observation> held;
  for (int i = 0; i < 80; ++i) {
    Observation row = rows.add();
    row.machine = static_cast<std::size_t>(i % 2);
    row.stack = i / 2 % 2;
    row.run.partition = i % 2 == 0 ? &slow : &fast;
    gemm(row, 1000 + i);
    auto truth = slow;
    truth.efficiency.gemm.value *= speed[row.machine] * share[row.stack];
    row.step_seconds = FitRows::seconds(row, truth);
    held.push_back(std::move(row));
  }
  std::vector<const Observation*> all;
  for (const auto& row : held) all.push_back(&row);
  const auto made = calibrate::fit(machines, stacks, all);
  const auto of = [](const auto& constants) { return constants.at("gemm").value; };
  CHECK(of(made.machines[1].constants) / of(made.machines[0].constants) ==
        Approx(1.2).epsilon(0.01));
  CHECK(of(made.stacks[1].constants) / of(made.stacks[0].constants) == Approx(0.7).epsilon(0.01));
  CHECK(made.stacks[0].seen.rows == 40);
  CHECK(made.machines[0].seen.gpus.high == 8);
  CHECK(made.stacks[0].constants.at("gemm").origin == "fitted: 40 rows of mine");
}

// Of three stacks the second is derived from the first and the third from the second, which has no
// row.
TEST_CASE("a stack that grew from another has what its own rows do not say", "[fit][stack]") {
  auto machine = partition();
  machine.efficiency.gemm.value = 0.3;
  std::vector<plan::StackPtr> stacks;
  const auto add = [&](const char* name, const char* like) {
    plan::Stack stack;
    stack.name = name, stack.like = like;
    stacks.push_back(std::make_shared<const plan::Stack>(stack));
  };
  add("old", ""), add("silent", "old"), add("new", "silent");
  const std::vector<calibrate::FittedMachine> machines{{{&machine}, {}}};
  FitRows rows(machine);
  std::vector<Observation> held;
  for (int i = 0; i < 80; ++i) {
    Observation row = rows.add();
    row.stack = i % 2 == 0 ? 0 : 2;
    row.run.partition = &machine;
    gemm(row, 1000 + i);
    auto truth = machine;
    truth.efficiency.gemm.value *= row.stack == 0 ? 0.8 : 0.8 * 1.25;
    row.step_seconds = FitRows::seconds(row, truth);
    held.push_back(std::move(row));
  }
  std::vector<const Observation*> all;
  for (const auto& row : held) all.push_back(&row);
  const auto made = calibrate::fit(machines, stacks, all);
  const auto of = [&](std::size_t stack) { return made.stacks[stack].constants.at("gemm").value; };
  CHECK(of(2) / of(0) == Approx(1.25).epsilon(0.01));
  CHECK(of(1) == of(0));
  CHECK(made.stacks[1].seen.rows == 0);
  CHECK(made.stacks[1].constants.at("gemm").origin == "fitted: 40 rows of mine");
  CHECK(made.stacks[1].constants.at("time_spread").value >
        made.stacks[0].constants.at("time_spread").value);
}

TEST_CASE("stacks that grew from each other in a circle are fitted all the same", "[fit][stack]") {
  const auto machine = partition();
  std::vector<plan::StackPtr> stacks;
  for (const auto& [name, like] : {std::pair{"a", "b"}, {"b", "a"}}) {
    plan::Stack stack;
    stack.name = name, stack.like = like;
    stacks.push_back(std::make_shared<const plan::Stack>(stack));
  }
  FitRows rows(machine);
  auto& row = rows.add();
  row.stack = 1;
  gemm(row, 1000);
  row.step_seconds = 1.1 * FitRows::seconds(row, machine);
  const std::vector<const Observation*> all{&row};
  const auto made = calibrate::fit({{{&machine}, {}}}, stacks, all);
  CHECK(made.stacks[1].seen.rows == 1);
}
