#pragma once

// Checks that hold for any way of training a transformer, for authors of backends.

#include <cstdint>

#include "core/backend/spec.h"
#include "core/backend/transformer.h"
#include "core/backend/words.h"

#pragma GCC visibility push(hidden)

namespace orch::backend {

inline std::int64_t round_up(std::int64_t number, std::int64_t multiple) {
  return (number + multiple - 1) / multiple * multiple;
}

// The divisor of `number` that is nearest below or at `wanted`.
inline std::int64_t divisor_below(std::int64_t number, std::int64_t wanted) {
  for (std::int64_t d = wanted; d > 1; --d)
    if (number % d == 0) return d;
  return 1;
}

namespace check_parts {

inline void head_dim(const orch_model& model, Problems& problems) {
  if (model.hidden % model.heads != 0) return;  // orch itself says so, for every backend
  const std::int64_t d = model.hidden / model.heads;
  if (d % 8 != 0)
    problems.warn("heads",
                  say("head_dim = hidden / heads = ", model.hidden, " / ", model.heads, " = ", d,
                      " is not a multiple of 8: attention misses the tensor cores"),
                  say("try hidden = ", model.heads * round_up(d, 8)));
}

inline void fused_softmax(const orch_run& run, double element, Problems& problems) {
  const auto& model = run.model;
  const std::int64_t t = run.tensor_parallel;
  if (element != 2)
    problems.warn("dtype", "the fused softmax needs 16 bits, not fp32",
                  "try dtype = 'bf16', or fused_kernels = false");
  if (model.seq > 2048 || model.seq <= 16)
    problems.warn("seq",
                  say("the fused softmax takes sequences of 17 to 2,048, not ", model.seq,
                      ": the scores pass through memory three times as often"),
                  "try flash_attention = true");
  else if (model.seq % 4 != 0)
    problems.warn("seq", say("seq = ", model.seq, " is not a multiple of 4: no fused softmax"),
                  say("try seq = ", round_up(model.seq, 4)));
  const std::int64_t batches = model.heads / t * run.micro_batch;
  if (model.heads % t == 0 && batches % 4 != 0)
    problems.warn("micro_batch",
                  say("(heads / tensor_parallel) * micro_batch = ", model.heads / t, " * ",
                      run.micro_batch, " = ", batches, " is not a multiple of 4: no fused softmax"),
                  say("try micro_batch = ", round_up(run.micro_batch, 4),
                      " or heads = ", round_up(model.heads, 4 * t)));
}

}  // namespace check_parts

// head_dim, and what the fused softmax wants where it is asked for.
inline void check_attention(const orch_run& run, double element, bool fused, bool flash,
                            Problems& problems) {
  check_parts::head_dim(run.model, problems);
  if (fused && !flash) check_parts::fused_softmax(run, element, problems);
}

// What tensor parallelism asks of the model and of the nodes.
inline void check_tensor(const orch_run& run, Problems& problems) {
  const auto& model = run.model;
  const std::int64_t t = run.tensor_parallel, node = run.gpus_per_node;
  if (model.heads % t != 0)
    problems.reject("tensor_parallel",
                    say("heads = ", model.heads, " is not divisible by tensor_parallel = ", t),
                    say("try tensor_parallel = ", divisor_below(model.heads, t),
                        " or heads = ", round_up(model.heads, t)));
  if (model.hidden % t != 0)
    problems.reject("tensor_parallel",
                    say("hidden = ", model.hidden, " is not divisible by tensor_parallel = ", t),
                    say("try tensor_parallel = ", divisor_below(model.hidden, t),
                        " or hidden = ", round_up(model.hidden, t)));
  else if (t > 1 && model.hidden / t % 64 != 0)
    problems.warn("tensor_parallel",
                  say("hidden / tensor_parallel = ", model.hidden, " / ", t, " = ",
                      model.hidden / t, " is not a multiple of 64: products waste part of a tile"),
                  say("try hidden = ", round_up(model.hidden, 64 * t)));
  if (t > node)
    problems.warn("tensor_parallel",
                  say("tensor_parallel = ", t, " spans ", (t + node - 1) / node, " nodes of ", node,
                      " GPUs: every layer waits for the network"),
                  say("try tensor_parallel = ", divisor_below(model.heads, node)));
  else if (node % t != 0)
    problems.warn("tensor_parallel",
                  say("tensor_parallel = ", t, " does not divide the ", node,
                      " GPUs of a node: some groups span two nodes"),
                  say("try tensor_parallel = ", divisor_below(node, t)));
}

// Hundreds of micro-batches summed in bf16 lose what the small ones add: eight bits of mantissa.
inline void check_gradient_sum(std::string_view dtype, double gradient_bytes,
                               std::int64_t micro_batches, const char* fix, Problems& problems) {
  if (dtype == "bf16" && gradient_bytes < 4 && micro_batches > 1)
    problems.warn(
        "dtype", say("the gradients of ", micro_batches, " micro-batches are summed in bf16"), fix);
}

}  // namespace orch::backend

#pragma GCC visibility pop
