#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/record/published/flops.h"
#include "core/record/record.h"

namespace orch::published {

// A way to count the FLOPs of a row's model.
struct Convention {
  std::string formula;  // megatron, simple8, simple6
  Counted counted = Counted::all;
  bool recompute = false;
  double flops = 0;  // of one sample

  std::string words() const;  // "simple8, parameters without embeddings"
};

// How fast a row was, by one of its cells.
struct Rate {
  double samples_per_second = 0;
  double rounding = 0;  // the share by which the printed digits leave it open
  std::string field;
  std::string words;  // "58.72 s for 64 samples"
};

// Half a unit of the last digit that a number is printed with, as a share of it: 0.0027 of 184.
double rounding(double value);

// Samples in a step, as said or as micro-batch x micro-batches x data-parallel ranks.
std::optional<double> batch_of(const record::Record& row);

// Every cell that says how fast a row was; time or samples first, days last.
std::vector<Rate> rates(const record::Record& row);
// Of the first of them: the time of a step, where the batch is known.
std::optional<double> step_seconds(const record::Record& row);

// All ways to count that a row's cells allow.
std::vector<Convention> conventions(const record::Record& row);
// Those of them that its TFLOPs are by: several where the row leaves recomputation open, none where
// the formula is not one of ours.
std::vector<Convention> own_conventions(const record::Record& row, const Peers& peers);

// TFLOPs of one GPU.
double tflops(const Convention& convention, const Rate& rate, double gpus);

}  // namespace orch::published
