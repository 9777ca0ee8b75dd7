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

// The fields of the section `training`, in the order of documents: type, name, default, limits (0,
// 0: none) and meaning. The limits are far beyond realistic values: they catch typing errors, not
// ambition.
#define ORCH_TRAINING(X)                                                                       \
  X(double, learning_rate, 3e-4, 1e-12, 100, "peak learning rate, after the warm-up")          \
  X(double, min_learning_rate, 3e-5, 0, 100, "learning rate at the end of the schedule")       \
  X(std::string, schedule, "cosine", 0, 0, "schedule after the warm-up")                       \
  X(std::int64_t, warmup_steps, 0, 0, 1e9, "steps of linear warm-up")                          \
  X(std::int64_t, decay_steps, 0, 0, 1e9,                                                      \
    "steps until the minimum is reached; 0: all steps of the run")                             \
  X(double, weight_decay, 0.1, 0, 100, "weight decay of matrices, not of biases and norms")    \
  X(double, beta1, 0.9, 0, 1 - 1e-12, "decay of the mean gradient")                            \
  X(double, beta2, 0.95, 0, 1 - 1e-12, "decay of the mean squared gradient")                   \
  X(double, epsilon, 1e-8, 1e-30, 1, "epsilon, added to the divisor of an update")             \
  X(double, clip, 1.0, 0, 1e9, "maximum of the gradient norm; 0: no clipping")                 \
  X(double, dropout, 0, 0, 1, "dropout after the embedding, attention and MLP; below 1")       \
  X(double, attention_dropout, 0, 0, 1, "dropout of attention weights; below 1")               \
  X(double, init_std, 0.02, 0, 100, "standard deviation of the initial weights")               \
  X(std::int64_t, seed, 1234, 0, 4294967295.0,                                                 \
    "random seed of weights, dropout and the order of the data")                               \
  X(double, loss_scale, 65536, 1, 0x1p40, "fp16: initial loss scale")                          \
  X(std::int64_t, loss_scale_window, 1000, 1, 1e9,                                             \
    "fp16: steps without overflow before the loss scale doubles")                              \
  X(std::string, data, "", 0, 0,                                                               \
    "dataset: prefix of a .bin and an .idx file; empty: synthetic tokens")                     \
  X(std::string, split, "969,30,1", 0, 0, "shares of training, validation and test")           \
  X(std::int64_t, evaluate_every, 0, 0, 1e9, "steps between evaluations; 0: never")            \
  X(std::int64_t, evaluate_batches, 8, 1, 1e9, "global batches per evaluation")                \
  X(std::int64_t, checkpoint_every, 0, 0, 1e9,                                                 \
    "steps between checkpoints; 0: only at the end and when told to stop")                     \
  X(std::int64_t, keep_checkpoints, 2, 0, 1e6, "number of checkpoints to keep; 0: write none") \
  X(std::string, init, "", 0, 0,                                                               \
    "checkpoint to take the initial weights from; empty: random weights")                      \
  X(std::int64_t, log_every, 1, 1, 1e9, "steps between log lines")                             \
  X(bool, tensorboard, true, 0, 0, "write TensorBoard event files")                            \
  X(double, collective_timeout, 600, 1e-3, 1e6, "seconds before a collective counts as hung")

// The section `training` of an experiment: data, optimizer and schedule of its runs.
struct Training {
#define ORCH_FIELD(type, name, value, ...) type name = value;
  ORCH_TRAINING(ORCH_FIELD)
#undef ORCH_FIELD

  bool operator==(const Training&) const = default;
};

// One field of it: name, type, default, limits and meaning as for a strategy's parameter, and the
// member that stores it.
struct TrainingField {
  Param param;
  std::variant<bool Training::*, std::int64_t Training::*, double Training::*,
               std::string Training::*>
      member;
};

// All of them: the functions that read, write and list fields use this table.
const std::vector<TrainingField>& training_fields();
const TrainingField* find_training_field(std::string_view name);
std::vector<std::string> training_names();

Value get(const Training& training, const TrainingField& field);
void set(Training& training, const TrainingField& field, const Value& conformed);

// If no minimum was given, the default minimum is lowered to the learning rate where that is
// smaller.
void fill_in(Training& training, const std::set<std::string>& given);

// "learning_rate = 0.001, warmup_steps = 5": the fields that differ from their defaults; empty if
// none.
std::string changes(const Training& training);

// Checks the section as a whole, independent of the run.
Errors check_training(const Training& training, const std::string& place);

}  // namespace orch::plan
