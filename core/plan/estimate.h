#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/units.h"
#include "core/plan/calendar.h"

namespace orch::plan {

// oom: the peak is above usable memory. tight: the upper end of its 90 % range is, or the peak is
// above the partition's share "tight" of it.
enum class MemoryFit { fits, tight, oom };

std::string_view name(MemoryFit fit);
std::optional<MemoryFit> parse_fit(std::string_view text);

// A part of the step time or of the memory, with the formula and its numbers.
struct EstimateItem {
  std::string name;
  // gemm, memory, collective, copy, host, bubble, overhead; device, host. For a measured time, the
  // usual groups: compute, bubble, communication, optimizer, other.
  std::string kind;
  double amount = 0;  // seconds or bytes
  std::string formula = {};
};

struct StageMemory {
  std::int64_t first_stage = 0;  // stages first..last have the same memory
  std::int64_t last_stage = 0;
  std::vector<EstimateItem> items;
  Bytes total = 0;
  std::vector<EstimateItem> host;  // host memory of one rank
};

// A part of the training: one batch, or a ramp of batches, on one number of nodes.
struct TrainingStretch {
  std::int64_t first_batch = 0;  // global batch at its start
  std::int64_t last_batch = 0;   // and at its end
  double samples = 0;
  double tokens = 0;
  std::int64_t data_parallel = 1;
  std::int64_t nodes = 1;
  std::int64_t gpus = 1;
  double first_step_seconds = 0;
  double last_step_seconds = 0;
  double tflops_per_gpu = 0;  // megatron convention, over the whole stretch
  double seconds = 0;
  double gpu_hours = 0;
};

// The 90 % range: where nine of ten measurements of a value are expected.
struct EstimateRange {
  double low = 0;
  double high = 0;

  bool overlaps(const EstimateRange& other) const { return low <= other.high && other.low <= high; }
};

// What a training takes: GPU-hours of computing, the rest with failures and restarts. 0: unknown.
struct Expense {
  double gpu_hours = 0;
  double money = 0;
  double energy_kwh = 0;
  double co2_kg = 0;

  Expense times(double factor) const {
    return {factor * gpu_hours, factor * money, factor * energy_kwh, factor * co2_kg};
  }
};

// An interval between checkpoints, and the share of the time that is lost with it.
struct CheckpointInterval {
  std::int64_t steps = 0;  // of the full batch; 0: only the end of a job saves
  double seconds = 0;
  double lost = 0;
};

// The same step in other software that was measured near the run.
struct OtherStack {
  std::string stack;
  bool here = false;  // measured on this machine; else on models of this size
  double step_seconds = 0;
};

// What a measured memory includes: everything that a process holds on the fullest GPU, or on a GPU
// of the first pipeline stage; or only the tensors on the fullest one (PyTorch's
// max_memory_allocated).
enum class MemoryOf { fullest, first, allocated };

// The predicted time and memory of a run. The items are filled in only on request; they add up to
// the totals.
struct Estimate {
  MemoryFit fit = MemoryFit::fits;
  Bytes peak_memory = 0;
  Bytes memory_low = 0;  // the 90 % range of peak_memory
  Bytes memory_high = 0;
  Bytes first_stage_memory = 0;  // of the first pipeline stage, where people measure
  Bytes allocated_memory =
      0;  // tensors in the peak: without context, communicators and fragmentation
  Bytes usable_memory = 0;
  Bytes host_memory = 0;  // per node
  std::int64_t peak_stage = 0;
  std::string fit_reason;  // only with items or a schedule; empty when it fits
  double step_seconds = 0;
  double step_low = 0;  // the 90 % range of step_seconds
  double step_high = 0;
  double micro_seconds = 0;          // of the slowest stage: the cost of one more micro-batch
  double tflops_per_gpu = 0;         // megatron convention
  double tflops_per_gpu_simple = 0;  // simple convention
  double mfu = 0;                    // without recomputation, against the datasheet peak
  double tokens_per_second = 0;
  double days_per_100b_tokens = 0;
  double days_to_train = 0;
  double gpu_hours = 0;

  // The training with failures, restarts and waits (core/price/estimate/goodput.h); 0: unknown.
  double interruptions = 0;  // expected number of failures
  double days_with_failures = 0;
  double days_with_failures_low = 0;  // its 90 % range
  double days_with_failures_high = 0;
  double cost = 0;  // in `currency`
  double energy_kwh = 0;
  double co2_kg = 0;
  std::string currency;
  CheckpointInterval checkpoint;       // as the experiment has it
  CheckpointInterval best_checkpoint;  // assumed where it has none; no steps: there are no failures

  Bytes communicated = 0;  // bytes that the busiest rank passes to collectives in a step
  double bubble = 0;       // mean share of the step for which pipeline stages are idle
  double fixed_share = 0;  // of a micro-batch: launches and other fixed costs

  std::string stack;                      // the stack whose factors were used; empty: none is known
  std::vector<std::string> remarks;       // how far the run is from anything that was measured
  std::vector<OtherStack> others;         // only with a schedule
  std::vector<TrainingStretch> schedule;  // the whole training, in order
  std::vector<EstimateItem> time;         // one step of the slowest stage
  std::vector<EstimateItem> lost;         // seconds that the training loses, by cause
  std::vector<StageMemory> memory;        // by stage

  // The 90 % range of an amount that is proportional to the step time: days, GPU-hours.
  EstimateRange range_of(double amount) const;

  Expense expense() const { return {gpu_hours, cost, energy_kwh, co2_kg}; }

  // The 90 % range of an amount that is proportional to the days with failures: cost, energy.
  EstimateRange range_with_failures(double amount) const;

  // Resets what depends on the length of the training, where that is unknown.
  void forget_length();

  // Distributes `days` of training over the schedule's stretches in proportion to their lengths;
  // without a schedule, on nodes that are always available.
  std::vector<Portion> portions(double days) const;

  Bytes memory_of(MemoryOf what) const {
    return what == MemoryOf::first       ? first_stage_memory
           : what == MemoryOf::allocated ? allocated_memory
                                         : peak_memory;
  }
};

}  // namespace orch::plan
