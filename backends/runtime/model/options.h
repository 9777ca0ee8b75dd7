#pragma once

#include <functional>

#include "backends/runtime/model/parts.h"
#include "backends/runtime/model/tensor_axis.h"

namespace orch::train {

enum class Direction { forward, backward };

// selective: scores, norms and the output of the MLP's activation are recomputed, which is cheap.
enum class Recompute { none, selective, full };
Recompute parse_recompute(const std::string& text);  // throws std::invalid_argument

// Called before and after a layer's weights are used, and its gradients computed; layer -1: the
// embedding; `layers`: the head, whose combined forward and backward count as backward.
struct LayerHooks {
  using Hook = std::function<void(std::int64_t layer, Direction way)>;
  Hook before = {}, after = {};
};

struct ModelOptions {
  plan::Model config;
  at::ScalarType dtype = at::kFloat;
  at::Device device = at::kCPU;
  Recompute recompute = Recompute::none;
  bool inputs_on_host = false;  // the layer inputs for full recomputation
  bool sdpa = true;
  double dropout = 0;
  double attention_dropout = 0;
  std::int64_t seed = 0;
  TensorAxis axis;
  LayerHooks hooks = {};
};

// Consecutive samples of a step, in the data's order.
struct MicroBatch {
  at::Tensor tokens;   // [samples * seq], int64
  at::Tensor targets;  // the same, one token further
  std::int64_t step = 0;
  std::int64_t first_sample = 0;  // index in the data's order, on which dropout depends
  std::int64_t rows = 0;          // samples * seq, also if tokens and targets are undefined
};

}  // namespace orch::train
