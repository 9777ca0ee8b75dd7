#pragma once

#include <functional>

#include "backends/runtime/model/parts.h"
#include "backends/runtime/model/tensor_axis.h"

namespace orch::train {

enum class Way { forward, backward };

// selective: what is cheap to compute again is not kept: scores, norms, what the MLP's
// activation gives.
enum class Recompute { none, selective, full };
Recompute parse_recompute(const std::string& text);  // throws std::invalid_argument

// Told before and after a layer's weights are used, and its gradients made; -1: the embedding's,
// layers: the head's, whose forward and backward are one, backward.
struct LayerHooks {
  using Hook = std::function<void(std::int64_t layer, Way way)>;
  Hook before = {}, after = {};
};

struct ModelOptions {
  plan::Model config;
  at::ScalarType dtype = at::kFloat;
  at::Device device = at::kCPU;
  Recompute recompute = Recompute::none;
  bool inputs_on_host = false;  // those that full recomputation begins with
  bool sdpa = true;
  double dropout = 0;
  double attention_dropout = 0;
  std::int64_t seed = 0;
  TensorAxis axis;
  LayerHooks hooks = {};
};

// Some samples of a step, in a row of the data's order.
struct MicroBatch {
  at::Tensor tokens;   // [samples * seq], int64
  at::Tensor targets;  // the same, one token further
  std::int64_t step = 0;
  std::int64_t first_sample = 0;  // of the data's order: dropout depends on it
  std::int64_t rows = 0;          // samples * seq, also where neither tokens nor targets are known
};

}  // namespace orch::train
