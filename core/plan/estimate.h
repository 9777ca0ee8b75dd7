#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/units.h"
#include "core/plan/calendar.h"

namespace orch::plan {

// oom: the peak is above usable memory. tight: its 90 % range reaches over it, or the peak is above
// the partition's share "tight" of it.
enum class Fit { fits, tight, oom };

std::string_view name(Fit fit);
std::optional<Fit> parse_fit(std::string_view text);

// A part of the step time or of the memory, with the formula and its numbers.
struct Item {
  std::string name;
  // gemm, memory, collective, copy, host, bubble, overhead; device, host. Of a record's time what
  // people sum up: compute, bubble, communication, optimizer, other.
  std::string kind;
  double amount = 0;  // seconds or bytes
  std::string formula = {};
};

struct StageMemory {
  std::int64_t first_stage = 0;  // stages first..last are alike
  std::int64_t last_stage = 0;
  std::vector<Item> items;
  Bytes total = 0;
  std::vector<Item> host;  // in host memory, of one rank
};

// A stretch of the training: a batch, or a ramp of batches, on one number of nodes.
struct Stretch {
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

// Where nine of ten measurements of a value are expected.
struct Range {
  double low = 0;
  double high = 0;

  bool overlaps(const Range& other) const { return low <= other.high && other.low <= high; }
};

// The same step in other software that was measured near the run.
struct OtherStack {
  std::string stack;
  bool here = false;  // it was measured on this machine; else on models of this size
  double step_seconds = 0;
};

// What a measured memory is of: all that a process holds of the fullest GPU, or of one of the first
// pipeline stage; or the tensors on the fullest alone (PyTorch's max_memory_allocated).
enum class MemoryOf { fullest, first, allocated };

// What a run would take. The items are there only if asked for; they add up to the totals.
struct Estimate {
  Fit fit = Fit::fits;
  Bytes peak_memory = 0;
  Bytes memory_low = 0;  // the 90 % range of peak_memory
  Bytes memory_high = 0;
  Bytes first_stage_memory = 0;  // of the pipeline's first stage, where people look
  Bytes allocated_memory =
      0;  // of the peak, tensors: without context, communicators and what is wasted
  Bytes usable_memory = 0;
  Bytes host_memory = 0;  // per node
  std::int64_t peak_stage = 0;
  std::string fit_reason;  // with items or a schedule only; empty when it fits
  double step_seconds = 0;
  double step_low = 0;  // the 90 % range of step_seconds
  double step_high = 0;
  double micro_seconds = 0;          // of the slowest stage: what one more micro-batch costs
  double tflops_per_gpu = 0;         // megatron convention
  double tflops_per_gpu_simple = 0;  // simple convention
  double mfu = 0;                    // without recomputation, against the datasheet peak
  double tokens_per_second = 0;
  double days_per_100b_tokens = 0;
  double days_to_train = 0;
  double gpu_hours = 0;
  Bytes communicated = 0;  // given to collectives in a step, by the rank that gives most
  double bubble = 0;       // share of the step that a pipeline's stages are idle, in the mean
  double fixed_share = 0;  // of a micro-batch: launches and other fixed costs of the slowest stage

  std::string stack;                 // the software that it is priced in; empty: none is known
  std::vector<std::string> remarks;  // how far it is from anything that was measured
  std::vector<OtherStack> others;    // with a schedule only
  std::vector<Stretch> schedule;     // the whole training, in order
  std::vector<Item> time;            // one step of the slowest stage
  std::vector<StageMemory> memory;   // by stage

  // The 90 % range of what grows with the step time: days, GPU-hours.
  Range range_of(double amount) const;

  // So many days of training as the schedule's stretches are to each other; without a schedule, on
  // nodes that are always there.
  std::vector<Portion> portions(double days) const;

  Bytes memory_of(MemoryOf what) const {
    return what == MemoryOf::first       ? first_stage_memory
           : what == MemoryOf::allocated ? allocated_memory
                                         : peak_memory;
  }
};

}  // namespace orch::plan
