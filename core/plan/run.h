#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/plan/cluster.h"
#include "core/plan/model.h"
#include "core/plan/settings.h"
#include "core/plan/strategy.h"
#include "core/plan/training.h"

namespace orch::plan {

// The parallel layout. Ranks are numbered tensor fastest, then context, data and pipeline.
struct Layout {
  std::int64_t tensor_parallel = 1;
  std::int64_t pipeline_parallel = 1;
  std::int64_t data_parallel = 1;
  std::int64_t context_parallel = 1;  // ranks that share each sample

  // The number of ranks that hold one copy of the model.
  std::int64_t copy() const { return tensor_parallel * context_parallel * pipeline_parallel; }
  std::int64_t ranks() const { return copy() * data_parallel; }
  bool operator==(const Layout&) const = default;
};

// The global batch grows from start by step until it is full, over `samples` samples.
struct RampUp {
  std::int64_t start = 0;
  std::int64_t step = 0;
  std::int64_t samples = 0;
  bool fewer_nodes = false;  // small batches may use fewer data-parallel ranks and thus nodes
  std::int64_t phases = 2;   // maximum number of jobs, each with its own number of nodes

  bool operator==(const RampUp&) const = default;
};

struct Batch {
  std::int64_t micro_batch = 1;   // samples
  std::int64_t accumulate = 1;    // micro-batches per data-parallel rank and step
  std::int64_t global_batch = 1;  // samples
  std::optional<RampUp> rampup;

  bool operator==(const Batch&) const = default;
};

// A part of the training with a fixed number of nodes; without a ramp-up there is one.
struct Phase {
  std::int64_t first_batch = 0;  // global batch at its start
  std::int64_t last_batch = 0;   // and at its end
  std::int64_t samples = 0;
  std::int64_t data_parallel = 1;
  std::int64_t nodes = 1;
};

// What will happen: every default filled in, every derived number explicit. Frozen as run.json
// (run_json.h), from which trainers, supervisors and followers read it back.
//
// A run that was read from run.json knows only what the document has about its strategy, cluster
// and partition: names, the GPU's name, GPUs per node. bind() sets the real ones.
struct Run {
  std::string id;  // label and hash (run_id.h); empty: not set yet
  std::string experiment;
  StrategyPtr strategy;
  Settings settings;  // in the order of strategy->params
  Model model;
  std::shared_ptr<const Cluster> cluster;
  const Partition* partition = nullptr;  // in cluster
  std::int64_t gpus = 0;
  std::int64_t nodes = 1;
  Layout layout;
  Batch batch;
  double tokens = 0;       // tokens to train on
  std::int64_t steps = 0;  // steps of the job; 0: all tokens
  Training training;
  std::string swept;        // training fields that differ between runs: "seed,clip"
  std::int64_t repeat = 1;  // index among repeats of the same run
  // The path from the run's folder to the experiment's folder, to which relative paths in
  // `training` refer. Empty: there are none, or the run has no folder yet.
  std::string paths_from;
  SlurmSettings job;  // the partition's SLURM options, overridden by the experiment's
  // The program to start as each rank; empty: the backend's own, orch-train-<backend>.
  std::string trainer;
  // The framework that trains instead of our own trainer, by the name of its template and its
  // version: "megatron-lm@0.12"; empty: none.
  std::string framework;
  std::string launch;  // for a framework: "node": one launcher per node; else one task per GPU
  std::vector<std::string> args;  // extra arguments of the framework
  std::string stack;              // the software stack that trains: "orch-ddp"
  std::vector<Error> warnings;
  std::vector<Error> unequal;  // differences between the framework and our own trainers

  const Value& setting(std::string_view name) const;
  std::string text_setting(std::string_view name) const;  // "" if the strategy has none
  std::string dtype() const;                              // the setting, or bf16
  // GPUs of the spare nodes: allocated and paid for like the others, but not trained on.
  std::int64_t spare_gpus() const {
    return job.spare_nodes.value_or(0) * std::min(gpus, partition->gpus_per_node);
  }
  // The global batch of the step that begins after `consumed_samples` samples (Megatron's rule: the
  // same number of samples at every batch below the full one).
  std::int64_t batch_at(std::int64_t consumed_samples) const;
  std::int64_t steps_of_all_tokens() const;           // including those of the ramp-up
  std::int64_t samples_of(std::int64_t count) const;  // samples in the first `count` steps
  // The number of processes that the job starts on a node: one per GPU, or one launcher.
  std::int64_t tasks(std::int64_t gpus_on_node) const {
    return launch == "node" ? 1 : gpus_on_node;
  }
  // The steps that the job does: as requested, or all of them.
  std::int64_t total_steps() const { return steps > 0 ? steps : steps_of_all_tokens(); }
  // The absolute form of a path in `training`, for a run in this folder; empty for an empty path.
  std::string resolve(const std::string& path, const std::string& run_folder) const;
  double samples() const { return tokens / static_cast<double>(model.seq); }
  double tokens_per_step() const {
    return static_cast<double>(batch.global_batch) * static_cast<double>(model.seq);
  }
};

// "megatron-lm" and "0.12" from "megatron-lm@0.12"; the second is empty where no version is given.
struct FrameworkName {
  std::string name;
  std::string version;
};
FrameworkName framework_name(const std::string& framework);

// The engine to estimate with where an experiment names none: the framework's if the strategy knows
// it, else the parameter's default.
Value default_engine(const Param& engine, const std::string& framework);

// The stack of a run whose experiment names none: "orch-ddp" for our own trainer, else the
// framework or the trainer's file name.
std::string default_stack(const Run& run);

// An impossible run, with every reason.
struct RejectedRun {
  std::string label;  // the label that the run would have
  std::vector<Error> reasons;
};

// "stage=1 compression=powersgd": the settings that differ from the run's defaults, without the
// layout.
std::string variant(const Run& run);

// "gpt-200b-megatron-384gpu-tp8-pp12-dp4-mb2": distinguishes runs of one experiment at a glance.
std::string label(const Run& run);

// The ramp-up cut where the number of data-parallel ranks changes; the last phase is the full
// batch. The batch of every step must be divisible (see check).
std::vector<Phase> phases(const Run& run);

// The run restricted to one phase: its ranks and nodes, its last batch, no ramp-up.
Run run_in(const Run& run, const Phase& phase);

// The global batches of the ramp-up, each with the samples trained at it; without the full batch.
struct RampStep {
  std::int64_t global_batch;
  double samples;
};
std::vector<RampStep> ramp_steps(const Batch& batch);

}  // namespace orch::plan
