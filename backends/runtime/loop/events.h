#pragma once

#include <atomic>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "backends/runtime/loop/append_file.h"

namespace orch::train {

// The values of one step, by the names of core/record/events/collect.h. The last five are only for
// the log.
struct StepEvent {
  std::int64_t step = 0;
  double loss = 0;
  double step_seconds = 0;
  std::int64_t tokens = 0;
  double tokens_per_second = 0;
  std::int64_t peak_memory_bytes = 0;
  double gradient_norm = 0;
  double learning_rate = 0;
  double loss_scale = 1;
  bool skipped = false;
  std::uint64_t communicated_bytes = 0;
  std::optional<double> bubble = {}, joules = {};
  std::int64_t steps = 0;    // of the whole run
  std::int64_t samples = 0;  // trained on so far
  std::int64_t global_batch = 0;
  std::int64_t skipped_steps = 0;  // since the last log line
  double tflops = 0;               // per GPU
};

// A line in the format of Megatron-DeepSpeed, so that tools for its logs can read ours: " iteration
// 5/      50 | consumed samples: … | … |", without a line break.
std::string log_line(const StepEvent& from);

// <attempt>/events.jsonl as described in core/record/events/collect.h. Numbers that are not finite
// are written as null. Thread-safe: checkpoints end in the background.
class Events {
 public:
  Events() = default;                        // for ranks that write no events
  explicit Events(const fs::path& attempt);  // throws ClassifiedFailure ("disk")

  // Writes a line: the event's name, the time, and its fields.
  void write(const char* event, const nlohmann::ordered_json& fields);
  void step(const StepEvent& event);

 private:
  AppendFile file_;
  std::atomic<bool> torn_ = false;  // the last line is incomplete
};

}  // namespace orch::train
