#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <variant>

#include "backends/runtime/model/model_config.h"
#include "core/base/files.h"
#include "core/base/result.h"

namespace orch::train {

struct RampUp {
  std::int64_t start = 0;
  std::int64_t step = 0;
  std::int64_t samples = 0;
};

// The section `training` of an experiment, word for word.
struct Training {
  double learning_rate = 3e-4;
  double min_learning_rate = 3e-5;
  std::string schedule = "cosine";  // cosine, linear, constant
  std::int64_t warmup_steps = 0;
  std::int64_t decay_steps = 0;  // until the minimum is reached; 0: all steps of the run
  double weight_decay = 0.1;
  double beta1 = 0.9;
  double beta2 = 0.95;
  double epsilon = 1e-8;
  double clip = 1.0;  // of the gradient's norm; 0: none
  double dropout = 0;
  double attention_dropout = 0;
  double init_std = 0.02;
  std::int64_t seed = 1234;
  double loss_scale = 65536;  // fp16: the first one
  std::int64_t loss_scale_window = 1000;
  std::string data;  // prefix of .bin and .idx; empty: synthetic tokens
  std::string split = "969,30,1";
  std::int64_t evaluate_every = 0;  // steps; 0: never
  std::int64_t evaluate_batches = 8;
  std::int64_t checkpoint_every = 0;  // steps; 0: at the end and when told to stop
  std::int64_t keep_checkpoints = 2;
  std::string init;  // a checkpoint whose weights to begin with; empty: random ones
  std::int64_t log_every = 1;
  bool tensorboard = true;
  double collective_timeout = 600;  // seconds
};

// run.json as a trainer sees it: nothing else configures a run.
struct RunConfig {
  std::string experiment;
  std::string strategy;
  std::string backend;
  ModelConfig model;
  std::string gpu;  // "cpu": no accelerator
  std::int64_t gpus = 1;
  std::int64_t tensor_parallel = 1;
  std::int64_t pipeline_parallel = 1;
  std::int64_t data_parallel = 1;
  std::int64_t micro_batch = 1;
  std::int64_t accumulate = 1;
  std::int64_t global_batch = 1;
  std::optional<RampUp> rampup;
  double tokens = 0;
  std::int64_t steps = 0;  // as asked; 0: all the tokens
  Training training;

  // A strategy's own parameter; throws std::out_of_range naming it if run.json has none.
  bool flag(const std::string& setting) const;
  std::int64_t integer(const std::string& setting) const;
  double real(const std::string& setting) const;
  std::string text(const std::string& setting) const;

  using Setting = std::variant<std::monostate, bool, std::int64_t, double, std::string>;
  std::map<std::string, Setting> settings;

  // The global batch of the step that begins after so many samples.
  std::int64_t batch_at(std::int64_t consumed_samples) const;
  // All steps of the run.
  std::int64_t total_steps() const;
};

Result<RunConfig> parse_config(const std::string& text, const std::string& place);
Result<RunConfig> read_config(const fs::path& run_json);

}  // namespace orch::train
