#include "core/record/published/samples.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "core/base/text.h"
#include "core/base/units.h"
#include "core/plan/check.h"
#include "core/plan/stack.h"
#include "core/record/published/framework.h"
#include "core/record/published/said.h"
#include "core/record/published/sizes.h"
#include "core/record/published/table.h"

namespace orch::published {
namespace {

using record::Record;
using Assumed = std::vector<std::string>;

// If the GPU is fuller than this, it may have run out of memory; otherwise the host did.
constexpr double kNearlyFull = 0.8;

std::string reason_text(const Error& error) {
  std::string out = error.place;
  if (!out.empty()) out += ": ";
  out += error.fact;
  if (!error.fix.empty()) out += "; " + error.fix;
  return out;
}

std::string reason_text(const std::vector<Error>& errors) {
  return join(mapped(errors, [](const Error& error) { return reason_text(error); }), "; ");
}

// Builds a run; the first step that fails leaves its reasons.
struct SampleMaker {
  const SampleMachines& machines;
  const std::vector<plan::StrategyPtr>& strategies;
  const plan::CheckBackend& check_backend;
  const PeerRows& peers;

  Result<plan::Run> run(const Record& row, Assumed& assumed) const {
    plan::Run run;
    run.experiment = row.source;
    run.tokens = 100e9;
    const auto machine = machine_of(row, machines, assumed);
    const auto layout = layout_of(row, assumed);
    auto model = model_of(row, peers, assumed);
    Errors errors;
    errors.add(machine);
    errors.add(layout);
    errors.add(model);
    if (!errors.empty()) return errors;
    run.cluster = machine->cluster;
    run.partition = machine->partition;
    run.layout = *layout;
    run.model = std::move(*model);
    run.gpus = layout->ranks();
    const auto per_node = run.partition->gpus_per_node;
    run.nodes = (run.gpus + per_node - 1) / per_node;
    if (auto status = set_strategy(row, run, assumed); !status) return status.error();
    const auto batch = batch_of(row, run.layout, assumed);
    if (!batch) return batch.error();
    run.batch = *batch;
    Errors reasons;
    plan::check_anywhere(run, reasons);
    check_backend(run, reasons, run.warnings);
    if (!reasons.empty()) return reasons;
    return run;
  }

  Status set_strategy(const Record& row, plan::Run& run, Assumed& assumed) const {
    const auto way = way_of(row, run.partition->gpu, assumed);
    if (!way) return way.error();
    const auto found = std::find_if(strategies.begin(), strategies.end(),
                                    [&](const auto& s) { return s->name == way->strategy; });
    if (found == strategies.end())
      return Error{"framework", "no backend offers " + way->strategy, "orch backends lists them"};
    run.strategy = *found;
    auto settings = settings_of(*way, *run.strategy);
    if (!settings) return settings.error();
    run.settings = std::move(*settings);
    run.stack = stack_of(row, *run.partition);
    if (row.field("stack")) return plan::check_stack(*run.partition, run.stack, "stack");
    if (!run.stack.empty() && row.origin.date.empty())
      assumed.push_back(fmt::format("stack {}, the newest {} (the row has no date)", run.stack,
                                    row.field_text("framework")));
    return {};
  }
};

// A step's seconds, from the cell that states it most directly.
std::optional<double> seconds_of(const Record& row, const plan::Run& run, const PeerRows& peers) {
  if (status_of(row) == "oom") return std::nullopt;  // the steps before were not in a steady state
  const auto batch =
      row.field_number("global_batch").value_or(static_cast<double>(run.batch.global_batch));
  if (const auto seconds = step_time(row)) return seconds;
  if (row.measured.samples_per_second) return batch / *row.measured.samples_per_second;
  if (row.measured.days_per_100b_tokens)
    return *row.measured.days_per_100b_tokens * kDay / 100e9 * run.tokens_per_step();
  const auto tflops = stated_tflops(row);
  if (!tflops) return std::nullopt;
  auto model = run.model;
  model.vocab = padded_vocab(model.vocab, run.layout.tensor_parallel);
  const auto flops =
      formula_flops(peers.formula(row), model, row.field_number("params").value_or(0),
                    peers.counted(row), batch, recompute_of(row) == "full");
  if (!flops) return std::nullopt;
  return *flops / (*tflops * 1e12 * static_cast<double>(run.gpus));
}

PublishedSample make_sample(const Record& row, plan::Run run, Assumed assumed,
                            const PeerRows& peers) {
  PublishedSample sample;
  sample.id = row.id;
  sample.source = row.source;
  sample.table = row.table;
  sample.date = row.origin.date;
  sample.status = status_of(row);
  sample.oom = sample.status == "oom";
  sample.step_seconds = seconds_of(row, run, peers);
  if (const auto& bytes = row.measured.peak_memory_bytes) {
    sample.host_oom = sample.oom && *bytes < kNearlyFull * run.partition->gpu.memory.value;
    if (!sample.oom) sample.memory_bytes = bytes;
    const auto of = row.field_text("mem_of");
    sample.memory_of = of == "first"       ? plan::MemoryOf::first
                       : of == "allocated" ? plan::MemoryOf::allocated
                                           : plan::MemoryOf::fullest;
  }
  sample.assumed_sizes = !row.whole("layers");
  for (const auto& habit : row.assumptions)
    if (!habit.starts_with("mem_of")) sample.inferred.push_back(habit.substr(0, habit.find(" (")));
  sample.run = std::move(run);
  sample.assumed = std::move(assumed);
  return sample;
}

Result<PublishedSample> sample_of(const Record& row, const SampleMaker& maker) {
  if (auto errors = flaws(row); !errors.empty()) return errors;
  Assumed assumed = row.assumptions;
  auto run = maker.run(row, assumed);
  if (!run) return run.error();
  return make_sample(row, std::move(*run), std::move(assumed), maker.peers);
}

// Why a row has nothing to compare a prediction with; "" if it has.
std::string says_nothing(const PublishedSample& sample) {
  if (sample.step_seconds || sample.memory_bytes || sample.oom || sample.status == "ok") return "";
  if (sample.status == "failed") return "status: it failed, and no time is given";
  if (sample.status == "hang") return "status: it hung, and no time is given";
  return "status: neither a result nor whether it ran is given";
}

}  // namespace

PublishedSamples to_samples(const std::vector<Record>& rows, const SampleMachines& machines,
                            const std::vector<plan::StrategyPtr>& strategies,
                            const plan::CheckBackend& check_backend) {
  PublishedSamples out;
  const PeerRows peers(rows);
  const SampleMaker maker{machines, strategies, check_backend, peers};
  for (const auto& row : rows) {
    if (row.flag("suspect").value_or(false))
      ++out.suspect;
    else if (row.field("dup_of"))
      ++out.duplicates;
    if (left_out(row)) continue;
    auto sample = sample_of(row, maker);
    const auto reason = sample ? says_nothing(*sample) : reason_text(sample.error());
    if (reason.empty())
      out.samples.push_back(std::move(*sample));
    else
      out.skipped.push_back({row.id, row.source, row.table, reason});
  }
  return out;
}

Result<PublishedSample> to_run(const Record& row, const PeerRows& peers,
                               const SampleMachines& machines,
                               const std::vector<plan::StrategyPtr>& strategies,
                               const plan::CheckBackend& check_backend) {
  return sample_of(row, {machines, strategies, check_backend, peers});
}

std::vector<std::string> folds(const std::vector<PublishedSample>& samples) {
  constexpr std::size_t kTables = 3, kFolds = 5;
  const auto origin = [](const PublishedSample& sample) {
    return sample.source + "@" + sample.run.cluster->name;
  };
  std::map<std::string, std::set<std::string>> tables;
  for (const auto& sample : samples)
    if (sample.step_seconds) tables[origin(sample)].insert(sample.table);
  std::map<std::string, std::size_t> seen;
  std::vector<std::string> names;
  for (const auto& sample : samples) {
    const auto turn = seen[origin(sample)]++ % kFolds;
    names.push_back(tables[origin(sample)].size() >= kTables
                        ? origin(sample) + "/" + sample.table
                        : fmt::format("{}#{}", origin(sample), turn));
  }
  return names;
}

std::vector<std::string> sources(const std::vector<PublishedSample>& samples) {
  return mapped(samples, &PublishedSample::source);
}

}  // namespace orch::published
