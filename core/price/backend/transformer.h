#pragma once

// The work of one transformer layer, the embedding and the LM head on one tensor-parallel rank, for
// authors of backends. Origins: shapes and tensor-parallel collectives from Shoeybi et al. 2019
// (Megatron-LM); sequence parallelism, recomputation and activation memory from Korthikanti et al.
// 2022; the bytes of memory-bound kernels were fitted to published step times of 384 A100.

#include <algorithm>
#include <cstdint>
#include <string_view>

#include "core/price/backend/experts.h"
#include "core/price/backend/modules.h"
#include "core/price/backend/ops.h"
#include "core/price/backend/share.h"
#include "core/price/backend/spec.h"
#include "core/price/backend/states.h"
#include "core/price/backend/words.h"

#pragma GCC visibility push(hidden)

namespace orch::backend {

// Conditions of Megatron's fused softmax: 16-bit, 16 < s <= 2048, s and (heads/t)*b multiples of 4.
inline bool fused_softmax_works(const plan::Model& model, std::int64_t micro_batch,
                                std::int64_t tensor_parallel, double element) {
  const std::int64_t batches = model.heads / tensor_parallel * micro_batch;
  return element == 2 && model.seq > 16 && model.seq <= 2048 && model.seq % 4 == 0 &&
         batches % 4 == 0;
}

// Adafactor's means are over whole matrices, even if these are cut: sums of squares of rows,
// columns and updates are reduced over ranks. The numbers to reduce for a layer, for the vocabulary
// matrix, and for the parameters beside them.
inline double layer_statistics(const Transformer& model) {
  return adafactor_means(model) * model.hidden + 12;
}
inline double word_statistics(const Transformer& model) {
  return model.padded_vocab + model.hidden + 1;
}
inline double first_statistics(const Transformer& model) {
  return model.sizes.learned_positions() ? model.seq + model.hidden + 1 : 2;
}
inline void emit_statistics(WorkSink& sink, double numbers, const MeshGroup& group) {
  if (group.size == 1) return;
  sink.op(during(collective("optimizer all-reduce", ORCH_ALL_REDUCE, 4 * numbers, group, 0.1),
                 {0, 0, 0, 1}),
          [&] { return say("4 B x ", numbers, " sums of rows, columns and updates"); });
}

// One reduction of what all ranks of our own trainers must agree on: the gradient norm, the loss,
// whether to stop.
inline void emit_agreement(const Transformer& model, WorkSink& sink, const MeshGroup& world) {
  constexpr double kBytes = 24;
  if (!model.lean || world.size == 1) return;
  sink.op(
      during(collective("norm and loss all-reduce", ORCH_ALL_REDUCE, kBytes, world), {0, 0, 0, 1}),
      [&] { return say("three numbers, over all ranks"); });
}

// ---- the layer ----

namespace transformer_parts {

// A product costs twice as much again in backward: for its input and for its weights. share: of the
// layers, where not all have it. module: the one that it belongs to.
inline void product(const Transformer& model, WorkSink& sink, const char* name, double n, double k,
                    bool again = true, double share = 1, std::uint32_t module = 0) {
  const double repeated = (model.full() && again) || model.repeats(module) ? share
                          : model.alternate()                              ? share / 2
                                                                           : 0;
  const Passes passes{share, repeated, 2 * share, 0};
  sink.op(during(gemm(name, model.tokens(), n, k), passes), [&] {
    return say("[s*b, k] x [k, n] = [", model.tokens(), ", ", k, "] x [", k, ", ", n, "]");
  });
}

// Latent attention computes queries, and keys with values, through a low-rank projection each.
inline void latent_products(const Transformer& model, WorkSink& sink) {
  const auto& sizes = model.sizes;
  const double h = model.hidden, t = model.tensor_parallel, a = model.heads / t;
  const double q = model.heads * static_cast<double>(sizes.head_dim + sizes.rope_dim) / t;
  if (sizes.q_rank > 0) product(model, sink, "Q down", static_cast<double>(sizes.q_rank), h);
  product(model, sink, "Q up", q, sizes.q_rank > 0 ? static_cast<double>(sizes.q_rank) : h, true, 1,
          kUpProjections);
  product(model, sink, "KV down", static_cast<double>(sizes.kv_rank + sizes.rope_dim), h);
  product(model, sink, "KV up", a * static_cast<double>(sizes.head_dim + sizes.value_dim),
          static_cast<double>(sizes.kv_rank), true, 1, kUpProjections);
}

inline void products(const Transformer& model, WorkSink& sink) {
  const auto& sizes = model.sizes;
  const double h = model.hidden, t = model.tensor_parallel;
  if (sizes.latent())
    latent_products(model, sink);
  else
    product(model, sink, "QKV", (sizes.q_width() + sizes.kv_width()) / t, h);
  product(model, sink, "attention output", h, sizes.value_width() / t);
  const auto ffn = static_cast<double>(sizes.ffn_hidden);
  if (model.dense() > 0) {
    product(model, sink, "MLP up", sizes.up_width(ffn) / t, h, true, model.dense(), kDenseMlp);
    product(model, sink, "MLP down", h, ffn / t, !model.lean, model.dense(), kDenseMlp);
  }
  if (sizes.mixture()) emit_experts(model, sink);
}

// Flash attention (Dao et al. 2022) skips the masked half and recomputes the scores in backward:
// five products there instead of two in forward.
inline Passes attention_passes(const Transformer& model) {
  if (model.flash_attention) return {0.5, model.again(kCoreAttention, 0.5), 1.25, 0};
  return {1, model.again() ? 1.0 : 0.0, 2, 0};
}

inline void core_attention(const Transformer& model, WorkSink& sink) {
  const auto& sizes = model.sizes;
  const double s = model.seq, rows = s / model.context_parallel, d = sizes.q_width() / model.heads;
  const double v = sizes.value_width() / model.heads;
  const double batch = model.micro_batch * model.heads / model.tensor_parallel;
  const auto head_dim = static_cast<std::int64_t>(d);
  const auto passes = attention_passes(model);
  sink.op(during(attention("attention scores", rows, s, d, batch, head_dim), passes), [&] {
    return say("b*heads/t = ", batch, " times [", rows, ", ", d, "] x [", d, ", ", s, "]");
  });
  sink.op(during(attention("attention context", rows, v, s, batch, head_dim), passes), [&] {
    return say("b*heads/t = ", batch, " times [", rows, ", ", s, "] x [", s, ", ", v, "]");
  });
}

inline void traffic(const Transformer& model, WorkSink& sink, const char* name, double each,
                    double count, const char* what, Passes passes,
                    std::uint32_t kernel = ORCH_STREAMS) {
  const double bytes = each * count * model.element / 2;
  sink.op(during(moved(ORCH_MEMORY, name, bytes, kernel), passes), [&] {
    return say(each * model.element / 2, " B x ", count, " ", what, " = ", PrintedBytes{bytes});
  });
}

// Unfused kernels for biases, casts and residuals read and write the activations again.
inline constexpr double kUnfused = 2;

// The traffic of recomputed modules: norms read and write two bytes each, activation functions read
// their inputs and write their outputs, heads are reordered as in forward, and operands of products
// are rounded again.
inline void repeated_element_wise(const Transformer& model, WorkSink& sink) {
  const auto widths = repeated_widths(model);
  if (widths.norms + widths.heads + widths.up == 0) return;
  const double apart = model.fused_kernels ? 1 : kUnfused;
  const double each =
      apart * (4 * widths.norms + 4.0 / 3 * widths.heads + 2 * widths.up + 2 * widths.inner);
  const double rounded =
      model.narrow > 0 ? (2 + 2 * model.narrow) * (widths.norms + widths.inner) : 0;
  traffic(model, sink, "norms, activations of recomputed modules", each + rounded, model.sbh(),
          "s*b*h", {0, 1, 0, 0}, ORCH_ELEMENT_WISE);
}

// Bytes per element of [s, b, h], for 16-bit activations. Replicated over the tensor-parallel
// ranks: 22 in forward and 26 in backward, for two norms, residuals and dropout; without dropout
// and biases each norm reads two and writes two. Sharded: the activation function reads and writes
// its inner widths (twice the wide one in backward), and heads are reordered: 20 and 28 for GPT-2.
// Sequence parallelism shards all of them.
inline void element_wise(const Transformer& model, WorkSink& sink) {
  const double t = model.tensor_parallel, replicas = model.sequence_parallel ? t : 1;
  const double apart = model.fused_kernels ? 1 : kUnfused;
  const double up = 2 * model.up_widths(), inner = 2 * model.inner_widths();
  const double order = 4.0 / 3 * model.qkv_widths();
  const double forward = model.drops() ? 22 : 16, backward = model.drops() ? 26 : 16;
  traffic(model, sink, "norms, dropout, GELU forward",
          apart * (forward / replicas + (up + inner + order) / t), model.sbh(), "s*b*h",
          {1, model.full() ? 1.0 : 0.0, 0, 0}, ORCH_ELEMENT_WISE);
  traffic(model, sink, "norms, dropout, GELU backward",
          apart * (backward / replicas + (2 * up + inner + order) / t), model.sbh(), "s*b*h",
          {0, 0, 1, 0}, ORCH_ELEMENT_WISE);
  repeated_element_wise(model, sink);
}

// Per 16-bit score: softmax with dropout moves 9 bytes in forward and 11 in backward when fused,
// three times as much otherwise; the products around it 4 and 8: on devices with fast matrix units
// their time is that of the scores that they write and read, not that of their operations.
inline void softmax(const Transformer& model, WorkSink& sink) {
  if (model.flash_attention) return;  // the scores stay on the chip
  const double factor = model.fused_softmax ? 1 : 3;
  traffic(model, sink, "scores forward", 9 * factor + 4, model.scores(), "scores",
          {1, model.again() ? 1.0 : 0.0, 0, 0}, ORCH_SOFTMAX);
  traffic(model, sink, "scores backward", 11 * factor + 8, model.scores(), "scores", {0, 0, 1, 0},
          ORCH_SOFTMAX);
}

inline void tensor_collective(const Transformer& model, WorkSink& sink, const char* name,
                              std::uint32_t which, Passes passes, bool hidden = false) {
  const MeshGroup group{static_cast<std::int64_t>(model.tensor_parallel), 1};
  const double bytes = model.sbh() * model.element;
  sink.op(during(collective(name, which, bytes, group), passes, hidden), [&] {
    return say(model.element, " B x s*b*h = ", model.element, " x ", model.sbh(), " = ",
               PrintedBytes{bytes}, " over ", model.tensor_parallel, " ranks");
  });
}

// One all-reduce after attention and one after the MLP; in backward before each; recomputation
// repeats those of forward. With sequence parallelism, the input of a product is stored as a shard:
// backward gathers it again for the weights' gradient, while the product for the input's gradient
// runs. Folded experts get each rank's own rows: only a dense MLP and shared experts need all of
// them.
inline void tensor_collectives(const Transformer& model, WorkSink& sink) {
  if (model.tensor_parallel <= 1) return;
  const bool own_rows = model.folded() && model.sizes.mixture() && model.sizes.shared_experts == 0;
  const double dense = model.dense(), experts = own_rows ? 0 : 1 - dense,
               n = own_rows ? 1 + dense : 2;
  const double again =
      model.full() ? n : model.again(kDenseMlp, dense) + model.again(kExperts, experts);
  const double behind = model.full() && model.lean ? 1 : again;
  if (!model.sequence_parallel)
    return tensor_collective(model, sink, "tensor all-reduce", ORCH_ALL_REDUCE, {n, behind, n, 0});
  const bool hidden = model.overlap_tensor;
  tensor_collective(model, sink, "sequence all-gather", ORCH_ALL_GATHER, {n, again, n, 0}, hidden);
  if (!model.keeps_gathered)
    tensor_collective(model, sink, "sequence all-gather", ORCH_ALL_GATHER, {0, 0, n, 0}, true);
  tensor_collective(model, sink, "sequence reduce-scatter", ORCH_REDUCE_SCATTER, {n, behind, n, 0},
                    hidden && model.overlap_scatters);
}

// The rounding of a product's operand, with a transposed copy for the weights' gradients: 2 bytes
// read, and 2 numbers of 8 bits or fewer written (as in Transformer Engine).
inline void casts(const Transformer& model, WorkSink& sink) {
  if (model.narrow == 0) return;
  const double each = 2 + 2 * model.narrow;
  const double t = model.tensor_parallel;
  const double mlp =
      model.dense() + (1 - model.dense()) * model.visited();  // rows are rounded once per expert
  const double inputs = 1 + mlp + (model.value_widths() + model.inner_widths()) / t;
  const double gradients = 1 + mlp + (model.qkv_widths() + model.up_widths()) / t;
  traffic(model, sink, "casts for products", each * inputs, model.sbh(), "s*b*h",
          {1, model.full() ? 1.0 : 0.0, 0, 0});
  traffic(model, sink, "casts of gradients for products", each * gradients, model.sbh(), "s*b*h",
          {0, 0, 1, 0});
}

// Transformer Engine rounds each expert's rows by kernels of their own, and reorders the scales of
// both operands before each product: forward has two products of an expert, backward four. Where a
// rank has many experts with few rows each, such kernels take long though they move little.
inline void casts_of_experts(const Transformer& model, WorkSink& sink) {
  if (model.narrow == 0 || !model.core || model.dense() == 1) return;
  const double share = 1 - model.dense();
  auto op = make_op(ORCH_OVERHEAD, "casts of each expert");
  op.kernel = ORCH_OF_KERNELS;
  op.calls = static_cast<double>(model.sizes.experts) / model.expert_parallel;
  const double forward = share * (2 + 2 * 2), backward = share * (2 + 2 * 4);
  sink.op(during(op, {forward, model.again(kExperts, forward), backward, 0}),
          [&] { return say(op.calls, " experts x 6 kernels forward, 10 backward"); });
}

// Ring attention (Liu et al. 2023): each rank has some rows of a sample and needs all its keys and
// values, which circulate while products run; their gradients come back the same way.
inline void context_exchange(const Transformer& model, WorkSink& sink) {
  if (model.context_parallel == 1) return;
  const auto& sizes = model.sizes;
  const double width = sizes.latent() ? sizes.q_width() + sizes.value_width() : sizes.kv_width();
  const double bytes =
      model.seq * model.micro_batch * width * model.element / model.tensor_parallel;
  const MeshGroup group{static_cast<std::int64_t>(model.context_parallel),
                        static_cast<std::int64_t>(model.tensor_parallel)};
  const auto formula = [&] {
    return say(model.element, " B x s*b x ", width,
               " / t of keys and values = ", PrintedBytes{bytes});
  };
  sink.op(during(collective("context all-gather", ORCH_ALL_GATHER, bytes, group),
                 {1, model.again() ? 1.0 : 0.0, 1, 0}, ORCH_HIDDEN),
          formula);
  sink.op(during(collective("context reduce-scatter", ORCH_REDUCE_SCATTER, bytes, group),
                 {0, 0, 1, 0}, ORCH_HIDDEN),
          formula);
}

// What the host launches for a layer of experts, relative to DeepEP or HybridEP in 16 bit: with
// narrow number formats, an expert's six products need about four additional casts; without a fused
// dispatch, the permutation, the counts and the all-to-all are operations of their own.
inline constexpr double kNarrowLaunches = 1.45, kPlainDispatch = 1.4, kBehindRouter = 0.7;

inline double expert_launches(const Transformer& model) {
  if (model.graphs == CudaGraphs::all) return 0;
  return (1 - model.dense()) * (model.narrow > 0 ? kNarrowLaunches : 1) *
         (model.expert_nodes > 0 || model.expert_parallel == 1 ? 1 : kPlainDispatch) *
         (model.graphs == CudaGraphs::none ? 1 : kBehindRouter);
}

inline void overhead(const Transformer& model, WorkSink& sink) {
  const double n = model.overheads;
  auto op = make_op(ORCH_OVERHEAD, "layer overhead");
  const bool graph = model.graphs == CudaGraphs::all ||
                     (model.graphs == CudaGraphs::attention && model.dense() < 1);
  op.kernel = graph ? ORCH_IN_GRAPH : ORCH_OF_LAYER;
  sink.op(during(op, {n, model.full() ? n : 0, n, 0}),
          [&] { return say(n == 1 ? std::string() : say(n, " of it "), "per layer and pass"); });
  const double experts = n * expert_launches(model);
  if (experts == 0) return;
  auto launches = make_op(ORCH_OVERHEAD, "launches of experts");
  launches.kernel = ORCH_OF_EXPERTS;
  sink.op(during(launches, {experts, model.again(kExperts, experts), experts, 0}),
          [&] { return say(experts, " of them per layer and pass"); });
}

}  // namespace transformer_parts

// Emits the computation of one layer and its tensor-parallel collectives into the current block.
inline void emit_layer(const Transformer& model, WorkSink& sink) {
  transformer_parts::products(model, sink);
  transformer_parts::core_attention(model, sink);
  transformer_parts::element_wise(model, sink);
  transformer_parts::softmax(model, sink);
  transformer_parts::tensor_collectives(model, sink);
  transformer_parts::context_exchange(model, sink);
  transformer_parts::casts(model, sink);
  transformer_parts::casts_of_experts(model, sink);
  transformer_parts::overhead(model, sink);
}

// ---- embedding and LM head ----

// Rows are read and written, then dropout (or bloom's norm): four passes over [s, b, h], three in
// backward.
inline void emit_embedding(const Transformer& model, WorkSink& sink) {
  using namespace transformer_parts;
  traffic(model, sink, "embedding forward", 8, model.sbh(), "s*b*h", {1, 0, 0, 0});
  traffic(model, sink, "embedding backward", 6, model.sbh(), "s*b*h", {0, 0, 1, 0});
  if (model.tensor_parallel <= 1) return;
  if (!model.sequence_parallel)
    return tensor_collective(model, sink, "embedding all-reduce", ORCH_ALL_REDUCE, {1, 0, 0, 0});
  tensor_collective(model, sink, "embedding reduce-scatter", ORCH_REDUCE_SCATTER, {1, 0, 0, 0});
  tensor_collective(model, sink, "embedding all-gather", ORCH_ALL_GATHER, {0, 0, 1, 0});
}

// Three numbers per row are reduced over the ranks that share the vocabulary: the highest logit,
// the sum of exponentials, the target's logit.
inline void cross_entropy_exchange(const Transformer& model, WorkSink& sink) {
  const double t = model.tensor_parallel;
  const MeshGroup group{static_cast<std::int64_t>(t), 1};
  const auto op = model.lean ? during(collective("cross entropy all-reduce", ORCH_ALL_GATHER,
                                                 12 * t * model.tokens(), group),
                                      {1, 0, 0, 0})
                             : during(collective("cross entropy all-reduce", ORCH_ALL_REDUCE,
                                                 4 * model.tokens(), group),
                                      {3, 0, 0, 0});
  sink.op(op, [&] {
    return model.lean ? say("12 B x ", model.tokens(), " tokens from each of ", t, " ranks")
                      : say("4 B x ", model.tokens(), " tokens, over ", t, " ranks");
  });
}

// Logits over the rank's part of the vocabulary, cross entropy in fp32 without gathering them:
// about 50 bytes per logit. Our trainers write the gradient in the logit's place, piece by piece: 2
// bytes are read in forward and in backward, 2 written. Megatron's fused kernel (Transformer
// Engine's) reads the logits twice and writes their gradient in forward, and scales it in backward.
inline double cross_entropy_bytes(const Transformer& model) {
  if (model.lean && model.tensor_parallel == 1) return 1.5 * model.element;
  return model.fused_loss && model.core ? 2.5 * model.element : 25;
}

inline void emit_head(const Transformer& model, WorkSink& sink) {
  using namespace transformer_parts;
  const double t = model.tensor_parallel, n = model.padded_vocab / t;
  sink.op(during(gemm("logits", model.tokens(), n, model.hidden, ORCH_WIDE), {1, 0, 2, 0}), [&] {
    return say("[s*b, h] x [h, V/t] = [", model.tokens(), ", ", model.hidden, "] x [", model.hidden,
               ", ", n, "]");
  });
  const double each = cross_entropy_bytes(model), bytes = each * model.logits();
  sink.op(during(moved(ORCH_MEMORY, "cross entropy", bytes, ORCH_CROSS_ENTROPY), {1, 0, 1, 0}),
          [&] {
            return say(each, " B x ", model.logits(), " logits = ", PrintedBytes{bytes},
                       " in each pass");
          });
  if (t <= 1) return;
  cross_entropy_exchange(model, sink);
  if (model.sequence_parallel)
    tensor_collective(model, sink, "logits all-gather", ORCH_ALL_GATHER,
                      {1, 0, model.lean ? 0.0 : 1.0, 0});
  tensor_collective(model, sink, "logits input gradient",
                    model.sequence_parallel ? ORCH_REDUCE_SCATTER : ORCH_ALL_REDUCE, {0, 0, 1, 0});
}

// ---- memory ----

// One layer's activations for one micro-batch, Korthikanti et al. 2022: s*b*h*(10 + 24/t +
// 5*a*s/(h*t)) bytes for GPT-2 in 16 bit, or s*b*h*(34/t + 5*a*s/(h*t)) with sequence parallelism.
// The 10 are inputs and outputs of two norms and two masks; the 24 are queries, keys and values,
// the output of attention, and the MLP before and after its activation function. Flash attention
// stores no scores. Our trainers store no masks, which saves two bytes, and scores only once;
// models without dropout have no masks. With unfused kernels, rotated queries and keys and the
// gate's activation are stored as well.
inline double latent_widths(const Transformer& model) {
  if (!model.sizes.latent()) return 0;
  return static_cast<double>(model.sizes.q_rank + model.sizes.kv_rank) / model.hidden;
}
inline double kept_scores(const Transformer& model) {
  const double each = model.drops() && !model.lean ? 5 : model.lean || model.core ? 2 : 4;
  return model.flash_attention ? 0 : each * model.scores() * model.element / 2;
}
inline double layer_activations(const Transformer& model, bool with_scores, bool all = true) {
  const double t = model.tensor_parallel, inner = 2 * model.inner_widths();
  double replicated = 8 + (model.lean || !model.drops() ? 0 : 2);
  double cut = 2 * (model.qkv_widths() + model.value_widths() + model.up_widths()) + inner;
  if (model.eager) cut += (model.sizes.swiglu ? inner : 0) + 2 * model.rotated_widths();
  if (!all && model.lean) replicated -= 4, cut -= inner;  // two norms, the activation's output
  if (model.narrow > 0 && !model.lean) {
    // Stored in the products' format: outputs of norms and of the activation, and a copy of
    // attention's result besides the one for its own backward (Transformer Engine).
    const double saved = 2 - model.narrow;
    replicated -= 2 * saved;
    cut += model.narrow * model.value_widths() - saved * model.inner_widths();
  }
  // The low-rank projections of latent attention: their outputs, for the norm, and the norm's
  // outputs.
  const double narrow_products =
      model.lean ? 0 : (2 + model.product_input()) * latent_widths(model);
  // Of the replicated part, the outputs of two norms are gathered.
  const double gathered = model.keeps_gathered && model.sequence_parallel ? 4 * (1 - 1 / t) : 0;
  const double linear = (replicated + narrow_products) / (model.sequence_parallel ? t : 1) +
                        gathered + cut / t + visited_bytes(model);
  const double scores = with_scores ? kept_scores(model) : 0;
  return model.sbh() * linear * model.element / 2 + scores;
}

// Ranks that share what lies between the products.
inline double sequence_ranks(const Transformer& model) {
  return model.sequence_parallel ? model.tensor_parallel : 1;
}

// A layer's input, the output of attention, and half of the products' outputs.
inline double alternate_results(const Transformer& model) {
  const double cut = model.value_widths() + (model.qkv_widths() + model.up_widths()) / 2;
  return model.element * model.sbh() * (2 / sequence_ranks(model) + cut / model.tensor_parallel);
}

// What a layer stores from its forward to its backward: all, all but the scores, or its input.
inline double kept_per_layer(const Transformer& model) {
  if (model.full()) return model.element * model.sbh() / sequence_ranks(model);
  if (model.alternate()) return alternate_results(model);
  if (model.modules != 0 && model.recompute == ORCH_RECOMPUTE_SELECTIVE)
    return layer_activations(model, !model.repeats(kCoreAttention)) -
           repeated_bytes(model) * model.sbh() * model.element / 2;
  const bool all = model.recompute == ORCH_RECOMPUTE_NONE;
  return layer_activations(model, all, all);
}

// Memory that is used only while one layer runs backward: the recomputed activations.
inline double recomputed_layer(const Transformer& model) {
  if (model.full()) return layer_activations(model, true);
  if (model.alternate()) return layer_activations(model, true) - alternate_results(model);
  if (model.recompute == ORCH_RECOMPUTE_NONE) return 0;
  if (model.lean || model.modules != 0)
    return layer_activations(model, true) - kept_per_layer(model);
  return model.flash_attention ? 0 : 5 * model.scores() * model.element / 2;
}

// In our trainers, a layer's backward also holds gradients as large as its activations. For other
// frameworks this is part of the fitted slack.
inline double layer_gradients(const Transformer& model) {
  return model.lean ? layer_activations(model, true) : 0;
}

// The memory of a framework's cross entropy is logit_bytes per logit. Our trainers turn logits into
// their gradient in place, up to a gigabyte of rows at a time, with fp32 copies where ranks share
// the rows.
inline double logits_memory(const Transformer& model) {
  if (!model.lean) return model.heads_of_vocab * model.logit_bytes * model.logits();
  const double copies = model.tensor_parallel == 1 ? 1 : model.element == 4 ? 2 : 5;
  return std::min(copies * model.element * model.logits(), 1073741824.0);
}

// Bytes per logit: the logit and its gradient as computed, and, unless a fused kernel writes the
// gradient in the logit's place, both in fp32 as well; for 16-bit logits, `fp32` is what an engine
// holds in fp32.
inline double framework_logit(std::string_view cross_entropy, double element, double fp32 = 8) {
  return 2 * element + (cross_entropy == "fused" ? 0 : element == 2 ? fp32 : 8);
}

// Makes a Transformer from the settings that all backends share; fp32_logits: bytes held in fp32
// per 16-bit logit in a plain cross entropy.
inline Transformer transformer(const BackendRun& run, double fp32_logits = 8) {
  const auto& all = plan::common_settings;
  auto model = transformer(run.model(), run->micro_batch);
  model.tensor_parallel = static_cast<double>(run->tensor_parallel);
  model.context_parallel = static_cast<double>(run->context_parallel);
  model.recompute = recompute_of(all.recompute(run));
  model.element = element_bytes(all.dtype(run)), model.narrow = narrow_bytes(all.dtype(run));
  model.flash_attention = all.flash_attention(run), model.fused_kernels = all.fused_kernels(run);
  model.fused_softmax =
      model.fused_kernels &&
      fused_softmax_works(run.model(), run->micro_batch, run->tensor_parallel, model.element);
  model.logit_bytes = framework_logit(all.cross_entropy(run), model.element, fp32_logits);
  model.fused_loss = all.cross_entropy(run) == "fused";
  return model;
}

inline const char* kept_formula(const Transformer& model) {
  return model.drops() ? " (s*b*h*(10 + 24/t + 5*a*s/(h*t)))" : " (by the widths of its parts)";
}

// Emits "activations" for the stages first..last, whose micro-batches in flight hold `layers`
// layers. kept: bytes per layer, which are the same for all stages.
inline void emit_activations(const Transformer& model, double kept, WorkSink& sink,
                             std::int64_t first, std::int64_t last, double layers,
                             const char* name = "activations") {
  sink.memory(name, first, last, layers * kept, [&] {
    return say(layers, " layers in flight x ", PrintedBytes{kept},
               model.full() ? " (inputs only)" : kept_formula(model), " = ",
               PrintedBytes{layers * kept});
  });
}

inline void emit_activations(const Transformer& model, WorkSink& sink, std::int64_t first,
                             std::int64_t last, double layers) {
  emit_activations(model, kept_per_layer(model), sink, first, last, layers);
}

// Emits "communicators": memory of NCCL (or Gloo) for each group of more than one rank, whatever
// its size.
inline void emit_communicators(WorkSink& sink, std::int64_t last, int groups) {
  sink.memory(
      "communicators", 0, last, groups, [&] { return say(groups, " kinds of groups"); },
      ORCH_COMMUNICATORS);
}

// Emits "recomputed layer" and "layer in backward" for the stages 0..last, and "logits" for the
// last. The head is done before the first layer is recomputed: on the last stage only the larger of
// the two counts.
inline void emit_peaks(const Transformer& model, WorkSink& sink, std::int64_t last) {
  const double again = recomputed_layer(model), gradients = layer_gradients(model);
  const double logits = logits_memory(model);
  const std::int64_t end = logits > again + gradients ? last - 1 : last;
  if (end >= 0) {
    sink.memory("recomputed layer", 0, end, again,
                [&] { return say("one layer while it runs backward = ", PrintedBytes{again}); });
    sink.memory("layer in backward", 0, end, gradients, [&] {
      return say("of its activations while it runs backward = ", PrintedBytes{gradients});
    });
  }
  if (end < last)
    sink.memory("logits", last, last, logits, [&] {
      return say(logits / model.logits(), " B x ", model.logits(),
                 " logits = ", PrintedBytes{logits});
    });
}

}  // namespace orch::backend

#pragma GCC visibility pop
