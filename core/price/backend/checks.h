#pragma once

// Checks for any way of training a transformer, for authors of backends.

#include <cstdint>

#include "core/base/multiples.h"
#include "core/price/backend/spec.h"
#include "core/price/backend/transformer.h"
#include "core/price/backend/words.h"

#pragma GCC visibility push(hidden)

namespace orch::backend {

namespace check_parts {

inline void head_dim(const plan::Model& model, ProblemSink& problems) {
  const std::int64_t d = model.head_dim;
  if (d * model.heads != model.hidden) {  // if not given, orch checks it for every backend
    if (d % 8 != 0 && model.hidden % model.heads == 0)
      problems.warn(
          "head_dim",
          say("head_dim = ", d, " is not a multiple of 8: attention misses the tensor cores"),
          say("try head_dim = ", round_up(d, 8)));
    return;
  }
  if (d % 8 != 0)
    problems.warn("heads",
                  say("head_dim = hidden / heads = ", model.hidden, " / ", model.heads, " = ", d,
                      " is not a multiple of 8: attention misses the tensor cores"),
                  say("try hidden = ", model.heads * round_up(d, 8)));
}

inline void fused_softmax(const BackendRun& run, double element, ProblemSink& problems) {
  const auto& model = run.model();
  const std::int64_t t = run->tensor_parallel;
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
  const std::int64_t batches = model.heads / t * run->micro_batch;
  if (model.heads % t == 0 && batches % 4 != 0)
    problems.warn(
        "micro_batch",
        say("(heads / tensor_parallel) * micro_batch = ", model.heads / t, " * ", run->micro_batch,
            " = ", batches, " is not a multiple of 4: no fused softmax"),
        say("try micro_batch = ", round_up(run->micro_batch, 4),
            " or heads = ", round_up(model.heads, 4 * t)));
}

}  // namespace check_parts

// Checks head_dim, and the conditions of the fused softmax where it is asked for.
inline void check_attention(const BackendRun& run, const Transformer& model,
                            ProblemSink& problems) {
  check_parts::head_dim(run.model(), problems);
  if (model.fused_kernels && !model.flash_attention)
    check_parts::fused_softmax(run, model.element, problems);
}

// Checks the sequence length for context parallelism.
inline void check_context(const BackendRun& run, ProblemSink& problems) {
  const std::int64_t c = run->context_parallel, seq = run.model().seq;
  if (seq % (2 * c) != 0 && c > 1)  // each rank gets an early and a late part, for equal work
    problems.reject("context_parallel",
                    say("seq = ", seq, " cannot be cut into 2 x ", c, " equal parts"),
                    say("try seq = ", round_up(seq, 2 * c)));
  if (c > 1 && !plan::common_settings.flash_attention(run))
    problems.warn("context_parallel", "ranks that share a sample never see all scores at once",
                  "try flash_attention = true");
}

// The usual name of what the fast links join: "node" or a larger domain.
inline const char* place_of(const BackendRun& run) {
  return run.domain() > run->gpus_per_node ? "NVLink domain" : "node";
}

// Checks the model's sizes and the nodes for tensor parallelism. whole_experts: experts are not cut
// by it.
inline void check_tensor(const BackendRun& run, ProblemSink& problems, bool whole_experts = false) {
  const auto& model = run.model();
  const std::int64_t t = run->tensor_parallel, node = run.domain();
  const auto* place = place_of(run);
  const auto divides = [&](const char* name, std::int64_t width) {
    if (width % t == 0) return true;
    problems.reject("tensor_parallel",
                    say(name, " = ", width, " is not divisible by tensor_parallel = ", t),
                    say("try tensor_parallel = ", divisor_below(width, t), " or ", name, " = ",
                        round_up(width, t)));
    return false;
  };
  if (divides("heads", model.heads) && !model.latent() && model.kv_heads % t != 0)
    problems.reject(
        "tensor_parallel",
        say("kv_heads = ", model.kv_heads, " is not divisible by tensor_parallel = ", t,
            ": ranks would need copies of keys and values, which no trainer here makes"),
        say("try tensor_parallel = ", divisor_below(model.kv_heads, t)));
  const bool dense = !model.mixture() || model.dense_layers > 0;
  if (dense && model.ffn_hidden != 4 * model.hidden) divides("ffn_hidden", model.ffn_hidden);
  if (model.mixture() && !whole_experts) divides("expert_hidden", model.expert_hidden);
  if (divides("hidden", model.hidden) && t > 1 && model.hidden / t % 64 != 0)
    problems.warn("tensor_parallel",
                  say("hidden / tensor_parallel = ", model.hidden, " / ", t, " = ",
                      model.hidden / t, " is not a multiple of 64: products waste part of a tile"),
                  say("try hidden = ", round_up(model.hidden, 64 * t)));
  if (t > node)
    problems.warn("tensor_parallel",
                  say("tensor_parallel = ", t, " spans ", (t + node - 1) / node, " ", place,
                      "s of ", node, " GPUs: every layer waits for the network"),
                  say("try tensor_parallel = ", divisor_below(model.heads, node)));
  else if (node % t != 0)
    problems.warn("tensor_parallel",
                  say("tensor_parallel = ", t, " does not divide the ", node, " GPUs of a ", place,
                      ": some groups span two"),
                  say("try tensor_parallel = ", divisor_below(node, t)));
}

// Warns of a pipeline with fewer micro-batches than stages.
inline void check_bubble(const BackendRun& run, std::int64_t chunks, ProblemSink& problems) {
  const std::int64_t p = run->pipeline_parallel, m = run->accumulate;
  if (m >= p) return;
  // Idle slots of 1F1B, Narayanan et al. 2021: P - 1 of them, in units of one of the v chunks.
  const double idle = static_cast<double>(p - 1);
  const double busy = static_cast<double>(m * chunks);
  problems.warn("accumulate",
                say(m, " micro-batches on ", p, " stages: the pipe is never full, ",
                    PrintedPercent{idle / (idle + busy)}, " of the step is idle"),
                say("try accumulate = ", 4 * p, " (global_batch = ",
                    4 * p * run->micro_batch * run->data_parallel, ") or pipeline_parallel = ",
                    divisor_below(run.model().layers, std::max<std::int64_t>(m / 4, 1))));
}

// Warns if hundreds of micro-batches are summed in bf16: its eight bits of mantissa lose small
// addends.
inline void check_gradient_sum(std::string_view dtype, double gradient_bytes,
                               std::int64_t micro_batches, const char* fix, ProblemSink& problems) {
  if (dtype == "bf16" && gradient_bytes < 4 && micro_batches > 1)
    problems.warn(
        "dtype", say("the gradients of ", micro_batches, " micro-batches are summed in bf16"), fix);
}

}  // namespace orch::backend

#pragma GCC visibility pop
