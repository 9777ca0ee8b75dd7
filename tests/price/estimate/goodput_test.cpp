#include "core/price/estimate/goodput.h"

#include <fmt/format.h>

#include <cmath>
#include <random>

#include "core/base/units.h"
#include "core/plan/family.h"
#include "core/plan/hardware/hardware.h"
#include "tests/test.h"

using namespace orch;
using namespace orch::estimate;
using Catch::Matchers::WithinRel;

namespace goodput_test {
namespace {

// A job of the training below: it computes interval after interval, and saves in the background,
// until it fails at `fails` or its limit ends it.
struct SimulatedJob {
  const FailureModel& model;
  double interval;
  double fails;
  double progress = 0;  // that a restart can use
  double seconds = 0;

  void run() {
    const double stop = model.job_seconds - model.last_save;
    const bool fails_first = fails < model.job_seconds;
    double clock = model.start, computed = 0;
    while (true) {
      const double snapshot = clock + std::max(interval, model.save) + model.stall;
      if (snapshot > stop && !fails_first) {
        progress = computed + std::min(interval, stop - clock);
        seconds = model.job_seconds;
        return;
      }
      if (snapshot > std::min(fails, stop)) break;
      computed += interval;
      if (snapshot + model.save <= fails) progress = computed;
      clock = snapshot;
    }
    seconds = fails + model.detection;
  }
};

// The wall time of a training that needs `computing` seconds, over those.
double simulated(const FailureModel& model, double interval, double computing) {
  std::mt19937_64 random(20261119);
  double left = computing, wall = 0;
  while (left > 0) {
    const double uniform =
        (static_cast<double>(random() >> 11) + 0.5) / static_cast<double>(1ULL << 53);
    SimulatedJob job{model, interval, -std::log(uniform) / model.failures};
    job.run();
    wall += model.queue_wait + job.seconds;
    left -= job.progress;
  }
  return wall / (computing - left);
}

// A 200B model on nodes of 8 A100, at Llama 3's rate of failures.
struct FailingTraining {
  std::shared_ptr<plan::Cluster> cluster = std::make_shared<plan::Cluster>();
  plan::Partition& partition = cluster->partitions.emplace_back();
  plan::Run run;

  explicit FailingTraining(std::int64_t gpus = 384) {
    cluster->name = "toy";
    partition.gpus_per_node = 8;
    partition.nodes = 4096;
    run.cluster = cluster;
    run.partition = &partition;
    run.strategy = std::make_shared<const plan::Strategy>();
    run.model = plan::sized("gpt", "m", 96, 13312, 104, 51200, 2048);
    run.gpus = gpus;
    run.nodes = gpus / 8;
    run.layout = {1, 1, gpus};
    run.batch = {1, 1, gpus, {}};
  }

  plan::Estimate estimate(double days, double step_seconds = 90) const {
    plan::Estimate out;
    out.step_seconds = out.step_low = out.step_high = step_seconds;
    out.days_to_train = days;
    out.gpu_hours = days * 24 * static_cast<double>(run.gpus);
    add_failures(run, out);
    return out;
  }
};

}  // namespace

// M e^((R + d) / M) (e^((tau + s) / M) - 1) / tau with M = 10,000 s, tau = 1,000 s, s = 10 s,
// d = 100 s, R = 200 s: 10 * e^0.03 * (e^0.101 - 1).
TEST_CASE("failures cost what Daly's exact form says", "[estimate][goodput]") {
  FailureModel model{1e-4, 10, 100, 200};
  CHECK_THAT(time_lost(model, 1000).wall(), WithinRel(1.0951324736, 1e-9));
  // A failure is noticed after 600 s, and the next job waits for an hour: M + 4,200 s.
  model.detection = 600;
  model.queue_wait = 3600;
  CHECK_THAT(time_lost(model, 1000).wall(), WithinRel(1.5550881125, 1e-9));
  CHECK_THAT(time_lost(model, 1000).failures, WithinRel(1.0951324736 / 1e4, 1e-9));
}

TEST_CASE("without failures only saves cost", "[estimate][goodput]") {
  CHECK_THAT(time_lost({0, 10}, 1000).wall(), WithinRel(1.01, 1e-12));
  // Jobs of 10,000 s compute for 10,000 - 200 - 100 s of which saves take 9 * 10, and wait 500 s.
  FailureModel model{0, 10, 100, 200, 0, 500, 100, 10'000};
  CHECK_THAT(time_lost(model, 1000).wall(), WithinRel(10'500.0 / (9700 - 90), 1e-12));
}

TEST_CASE("the parts of the lost time add up", "[estimate][goodput]") {
  for (const double limit : {72'000.0, std::numeric_limits<double>::infinity()}) {
    const FailureModel model{2e-6, 3, 50, 110, 600, 7200, 50, limit};
    const auto lost = time_lost(model, 8000);
    CHECK_THAT(lost.held, WithinRel(1 + lost.saving + lost.restarting + lost.repeated, 1e-9));
    CHECK(lost.repeated > 0);
  }
}

TEST_CASE("a simulation agrees with the formula", "[estimate][goodput]") {
  for (const std::int64_t gpus : {8, 64, 384, 2048, 16'384})
    for (const double wait : {0.0, 6 * 3600.0})
      for (const char* limit : {"", "20:00:00"})
        for (const double longer : {1.0, 4.0}) {
          FailingTraining training(gpus);
          training.partition.operation.queue_wait.value = wait;
          training.run.job.time = limit;
          const auto model = failure_model(training.run, gpus / 8, gpus, 90, 1e9);
          const double interval = longer * best_interval(model, 1e8);
          const double formula = time_lost(model, interval).wall();
          const double jobs = 30'000;
          const double job = std::min(model.job_seconds, 1 / model.failures);
          const double found = simulated(model, interval, jobs * job);
          CAPTURE(gpus, wait, limit, longer, interval, formula, found);
          CHECK_THAT(found, WithinRel(formula, 0.02));
        }
}

// Prints the table of docs/goodput.md: orch_test_price "[.goodput]".
TEST_CASE("the table of docs/goodput.md", "[.goodput]") {
  fmt::print(
      "| GPUs | queue | job limit | saves every | formula | simulation | difference |\n"
      "| ---: | ---: | ---: | ---: | ---: | ---: | ---: |\n");
  for (const std::int64_t gpus : {8, 64, 384, 2048, 16'384})
    for (const double wait : {0.0, 6 * 3600.0})
      for (const char* limit : {"", "20:00:00"}) {
        FailingTraining training(gpus);
        training.partition.operation.queue_wait.value = wait;
        training.run.job.time = limit;
        const auto model = failure_model(training.run, gpus / 8, gpus, 90, 1e9);
        const double interval = best_interval(model, 1e8);
        const double formula = time_lost(model, interval).wall();
        const double job = std::min(model.job_seconds, 1 / model.failures);
        const double found = simulated(model, interval, 100'000 * job);
        fmt::print("| {} | {} | {} | {:.0f} min | {:.4f} | {:.4f} | {:+.2f} % |\n", gpus,
                   wait > 0 ? "6 h" : "0", *limit ? "20 h" : "none", interval / 60, formula, found,
                   100 * (found / formula - 1));
      }
}

TEST_CASE("no other interval loses less than the best", "[estimate][goodput]") {
  for (const double limit : {72'000.0, std::numeric_limits<double>::infinity()}) {
    const FailureModel model{2e-6, 3, 50, 110, 600, 0, 50, limit};
    const double best = best_interval(model, 1e7);
    const double least = time_lost(model, best).wall();
    for (double factor = 0.1; factor < 10; factor *= 1.13)
      CHECK(time_lost(model, best * factor).wall() > least - 2e-4);
    // Young's first-order rule: sqrt(2 s M).
    CHECK_THAT(best, WithinRel(std::sqrt(2 * 3 / 2e-6), 0.2));
  }
}

TEST_CASE("a job that never reaches its first save has no end", "[estimate][goodput]") {
  CHECK_FALSE(std::isfinite(time_lost({1e-6, 1, 50, 400, 0, 0, 50, 300}, 100).wall()));
}

// Quantiles of chi-squared with 6 degrees of freedom over 6: 1.6354 and 12.5916.
TEST_CASE("the range of a rate is that of a Gamma distribution", "[estimate][goodput]") {
  CHECK_THAT(gamma_quantile(3, -1.6449), WithinRel(1.6354 / 6, 0.015));
  CHECK_THAT(gamma_quantile(3, 1.6449), WithinRel(12.5916 / 6, 0.005));
  CHECK_THAT(gamma_quantile(1e6, 1.6449), WithinRel(1.0, 0.01));
}

// 105 days on 384 GPUs, one failure in 50,700 GPU-hours: 967,680 / 50,700 = 19.1. Two hours between
// saves lose half of them per failure, and a quarter of an hour for the restart: 1.5 hours of 132.
TEST_CASE("a run of 105 days meets about 19 failures", "[estimate][goodput]") {
  FailingTraining training;
  training.run.training.checkpoint_every = 80;  // of 90 s
  const auto e = training.estimate(105);
  CHECK_THAT(e.interruptions, WithinRel(19.3, 0.02));
  CHECK(e.checkpoint.steps == 80);
  CHECK(e.checkpoint.seconds == 7200);
  CHECK(e.checkpoint.lost > 0.008);
  CHECK(e.checkpoint.lost < 0.015);
  CHECK_THAT(e.days_with_failures, WithinRel(105 / (1 - e.checkpoint.lost), 1e-9));
  CHECK(e.days_with_failures_low < e.days_with_failures);
  CHECK(e.days_with_failures_high > e.days_with_failures);
  CHECK(e.best_checkpoint.lost <= e.checkpoint.lost);

  // Once a day, and six hours in the queue after each failure.
  training.run.training.checkpoint_every = 960;
  training.partition.operation.queue_wait = {6 * 3600, "o"};
  CHECK_THAT(training.estimate(105).checkpoint.lost, WithinRel(0.13, 0.1));
}

// e^(R / M) (e^(T / M) - 1) / (T / M) with R = 60 s and detection of 600 s; T is the whole
// training.
TEST_CASE("without checkpoints each failure starts the training again", "[estimate][goodput]") {
  FailingTraining training;
  training.run.training.keep_checkpoints = 0;
  CHECK(checkpoint_bytes(training.run) == 0);
  const double mean = 3600 / (training.partition.failures_per_gpu_hour() * 384);
  const auto e = training.estimate(10);
  const double whole = 10 * kDay;
  CHECK_THAT(
      e.days_with_failures,
      WithinRel(10 * (mean + 600) * std::exp(60 / mean) * std::expm1(whole / mean) / whole, 1e-6));
  CHECK(e.checkpoint.steps == 0);
  CHECK(e.best_checkpoint.steps == 0);
  // It would have to end within a job, and before a failure.
  training.run.job.time = "20:00:00";
  const auto endless = training.estimate(10);
  CHECK(endless.days_with_failures == 0);
  // Budgets count the computing nevertheless: 384 GPUs for ten days.
  CHECK_THAT(endless.energy_kwh, WithinRel(384 * 240 * training.partition.busy_watts() / 1000 *
                                               training.partition.operation.pue.value,
                                           1e-6));
  training.run.job.time = "";
  CHECK(training.estimate(200).days_with_failures == 0);
}

TEST_CASE("a failure rate of nodes counts like one of their GPUs", "[estimate][goodput]") {
  FailingTraining training;
  training.partition.operation.node_days_between_failures = {100, "o"};
  const auto model = failure_model(training.run, 48, 384, 90, 1e6);
  CHECK_THAT(model.failures, WithinRel(48 / (100 * kDay), 1e-12));
}

// 12 bytes per parameter over 48 nodes of 1.2 GB/s, and over the whole file system.
TEST_CASE("a save takes its bytes over the bandwidth", "[estimate][goodput]") {
  FailingTraining training;
  const double bytes = 12 * training.run.model.params();
  CHECK(checkpoint_bytes(training.run) == bytes);
  auto model = failure_model(training.run, 48, 384, 90, 1e6);
  CHECK_THAT(model.save, WithinRel(bytes / 57.6e9, 1e-12));
  CHECK_THAT(model.stall, WithinRel(bytes / 384 / 2.65e9, 1e-12));
  CHECK_THAT(model.start, WithinRel(60 + bytes / 57.6e9, 1e-12));
  training.partition.operation.file_system_bandwidth = {10e9, "o"};
  training.run.framework = "megatron-lm@0.12";  // it waits for its save, of 14 bytes per parameter
  model = failure_model(training.run, 48, 384, 90, 1e6);
  CHECK_THAT(model.stall, WithinRel(bytes * 14 / 12 / 10e9, 1e-12));
  CHECK(model.save == 0);
}

TEST_CASE("a job stops to save before its limit, and one that is long enough has none",
          "[estimate][goodput]") {
  FailingTraining training;
  training.run.job.time = "20:00:00";
  training.run.job.signal_seconds = 600;
  const auto model = failure_model(training.run, 48, 384, 90, 1e6);
  CHECK_THAT(model.job_seconds, WithinRel(72'000 - 600 - 180 + model.last_save, 1e-12));
  CHECK(std::isinf(failure_model(training.run, 48, 384, 90, 60'000).job_seconds));
}

// 384 GPUs for 100 days: 921,600 GPU-hours; without failures a training pays for these.
TEST_CASE("cost, energy and CO2 are of the GPU-hours that jobs hold", "[estimate][goodput]") {
  FailingTraining training;
  auto& site = training.partition.operation;
  site.failures = {0, "o"};
  site.snapshot_bandwidth = {1e15, "o"};
  site.price = {2, "o"};
  site.currency = "EUR";
  site.pue = {1.5, "o"};
  site.gco2_per_kwh = {100, "o"};
  training.partition.gpu.watts = {400, "o"};
  auto e = training.estimate(100);
  CHECK_THAT(e.cost, WithinRel(2 * 921'600.0, 1e-6));
  CHECK(e.currency == "EUR");
  CHECK_THAT(e.energy_kwh, WithinRel(921'600 * 0.4 * 1.5, 1e-6));
  CHECK_THAT(e.co2_kg, WithinRel(921'600 * 0.4 * 1.5 * 0.1, 1e-6));
  CHECK(e.interruptions == 0);

  site.node_price = {24, "o"};  // 3 per GPU-hour; 48 spare GPUs wait at 80 W
  training.run.job.spare_nodes = 6;
  e = training.estimate(100);
  CHECK_THAT(e.cost, WithinRel(3 * 921'600.0 * 432 / 384, 1e-6));
  CHECK_THAT(e.energy_kwh, WithinRel((921'600 * 0.4 + 115'200 * 0.08) * 1.5, 1e-6));

  site.failures = {419.0 / (54 * 24 * 16384), "o"};
  const auto failing = training.estimate(100);
  CHECK_THAT(failing.cost / e.cost,
             WithinRel(failing.days_with_failures / e.days_with_failures, 1e-3));
}

// Luccioni, Viguier and Ligozat (2022): 1,082,990 GPU-hours on A100 at their 400 W took 433,196
// kWh, at 57 g/kWh 24.69 t of CO2, without the idle machine and the site's cooling.
TEST_CASE("BLOOM-176B's energy and CO2 are those of its paper", "[estimate][goodput]") {
  const fs::path experiments = fs::path(ORCH_SOURCE_DIR) / "experiments";
  hardware::Catalog catalog({experiments / "clusters"}, {experiments / "gpus.yaml"});
  const auto found = catalog.find("jean-zay");
  REQUIRE(found);
  FailingTraining training;
  training.partition = *(*found)->find("a100-80g");
  training.partition.operation.failures = {0, "of GPU-hours that include them"};
  training.partition.operation.snapshot_bandwidth = {1e15, "as above"};
  const auto e = training.estimate(1'082'990.0 / 24 / 384);
  const double pue = training.partition.operation.pue.value;
  CHECK(pue == 1.2);
  CHECK_THAT(e.energy_kwh / pue, WithinRel(433'196.0, 1e-4));
  CHECK_THAT(e.co2_kg / pue, WithinRel(24'690.0, 1e-3));
}

TEST_CASE("a training that begins on fewer nodes fails less often there", "[estimate][goodput]") {
  FailingTraining training;
  plan::Estimate e;
  e.step_seconds = e.step_low = e.step_high = 90;
  for (const std::int64_t gpus : {96, 384}) {
    auto& stretch = e.schedule.emplace_back();
    stretch.gpus = gpus;
    stretch.nodes = gpus / 8;
    stretch.first_step_seconds = stretch.last_step_seconds = 90;
    stretch.seconds = 50 * kDay;
    e.days_to_train += 50;
  }
  add_failures(training.run, e);
  // 50 days on 480 GPUs, one failure in 50,700 GPU-hours.
  CHECK_THAT(e.interruptions, WithinRel(50 * 24 * 480 / 50'680.0, 0.02));
}

}  // namespace goodput_test
