#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "core/base/result.h"
#include "core/plan/strategy.h"
#include "core/plan/value.h"

namespace orch::plan {

// The section `training` of an experiment: how its runs learn. What each field means, and its
// limits, stand in training_fields().
struct Training {
  double learning_rate = 3e-4;
  double min_learning_rate = 3e-5;
  std::string schedule = "cosine";
  std::int64_t warmup_steps = 0;
  std::int64_t decay_steps = 0;
  double weight_decay = 0.1;
  double beta1 = 0.9;
  double beta2 = 0.95;
  double epsilon = 1e-8;
  double clip = 1.0;
  double dropout = 0;
  double attention_dropout = 0;
  double init_std = 0.02;
  std::int64_t seed = 1234;
  double loss_scale = 65536;
  std::int64_t loss_scale_window = 1000;
  std::string data;
  std::string split = "969,30,1";
  std::int64_t evaluate_every = 0;
  std::int64_t evaluate_batches = 8;
  std::int64_t checkpoint_every = 0;
  std::int64_t keep_checkpoints = 2;
  std::string init;
  std::int64_t log_every = 1;
  bool tensorboard = true;
  double collective_timeout = 600;

  bool operator==(const Training&) const = default;
};

// One field of it: name, type, default, limits and meaning as for a strategy's parameter, and where
// it lives.
struct TrainingField {
  Param param;
  std::variant<bool Training::*, std::int64_t Training::*, double Training::*,
               std::string Training::*>
      member;
};

// All of them, in the order of the struct: reading, writing and listing go through this table.
const std::vector<TrainingField>& training_fields();
const TrainingField* find_training_field(std::string_view name);
std::vector<std::string> training_names();

Value get(const Training& training, const TrainingField& field);
void set(Training& training, const TrainingField& field, const Value& conformed);

// Where the minimum is not among the fields that were given, a small rate is its own minimum.
void fill_in(Training& training, const std::set<std::string>& given);

// "learning_rate = 0.001, warmup_steps = 5": what is not as by default; empty if all is.
std::string changes(const Training& training);

// What is wrong with the section as a whole, whatever the run.
Errors check_training(const Training& training, const std::string& place);

}  // namespace orch::plan
