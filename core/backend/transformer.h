#pragma once

// What one transformer layer, the embedding and the LM head do on one tensor-parallel rank, for
// authors of backends. Origins: shapes and tensor-parallel collectives from Shoeybi et al. 2019
// (Megatron-LM); sequence parallelism, recomputation and activation memory from Korthikanti et al.
// 2022; the bytes of memory-bound kernels were fitted to published step times of 384 A100.

#include <algorithm>
#include <cstdint>

#include "core/backend/ops.h"
#include "core/backend/spec.h"
#include "core/backend/states.h"
#include "core/backend/words.h"

#pragma GCC visibility push(hidden)

namespace orch::backend {

// The sizes of a model on one rank. s, b, h, a, t in the formulas are seq, micro_batch, hidden,
// heads and tensor_parallel.
struct Transformer {
  double layers = 0;
  double hidden = 0;
  double heads = 0;
  double vocab = 0;         // as asked
  double padded_vocab = 0;  // as stored
  double seq = 0;
  double micro_batch = 1;
  double tensor_parallel = 1;
  double element = 2;  // bytes of an activation
  std::uint32_t recompute = ORCH_RECOMPUTE_NONE;
  bool bloom = false;  // ALiBi instead of position embeddings, a norm after the embedding
  bool sequence_parallel = false;
  bool flash_attention = false;
  bool fused_kernels = true;  // norms, bias with GELU, bias with dropout in one kernel each
  bool fused_softmax = true;
  // As our own trainers do it: a block that is computed again leaves out its last product, whose
  // result nobody needs; the cross entropy has one exchange; the head gathers its input once.
  bool lean = false;
  double overheads = 1;  // fixed costs per layer and pass

  double tokens() const { return seq * micro_batch; }
  double sbh() const { return tokens() * hidden; }
  double scores() const { return micro_batch * heads * seq * seq / tensor_parallel; }
  double logits() const { return tokens() * padded_vocab / tensor_parallel; }
  bool full() const { return recompute == ORCH_RECOMPUTE_FULL; }
  // Core attention is recomputed; flash attention does so by itself.
  bool again() const { return recompute != ORCH_RECOMPUTE_NONE && !(flash_attention && !full()); }

  // Parameters of one rank. Norms and the biases of row-parallel products are replicated over the
  // tensor-parallel ranks: below 1e-4 of a layer, and counted where our own trainer counts its bytes.
  double shared_params() const { return 6 * hidden; }
  double layer_params() const {
    const double copies = lean ? shared_params() * (1 - 1 / tensor_parallel) : 0;
    return (12 * hidden * hidden + 13 * hidden) / tensor_parallel + copies;
  }
  double embedding_params() const { return vocab * hidden / tensor_parallel; }
  double padding_params() const { return (padded_vocab - vocab) * hidden / tensor_parallel; }
  // Replicated over the tensor-parallel ranks.
  double first_params() const { return bloom ? 2 * hidden : seq * hidden; }  // positions, or a norm
  double last_params() const { return 2 * hidden; }                          // the final norm
  // Of the whole model, where tensor_parallel is 1.
  double params() const {
    return layers * layer_params() + embedding_params() + first_params() + last_params();
  }
};

inline Transformer transformer(const orch_model& model, std::int64_t micro_batch) {
  Transformer result;
  result.layers = static_cast<double>(model.layers);
  result.hidden = static_cast<double>(model.hidden);
  result.heads = static_cast<double>(model.heads);
  result.vocab = result.padded_vocab = static_cast<double>(model.vocab);
  result.seq = static_cast<double>(model.seq);
  result.micro_batch = static_cast<double>(micro_batch);
  result.bloom = model.family == ORCH_BLOOM;
  return result;
}

// Megatron's fused softmax: 16-bit, 16 < s <= 2048, s and (heads/t)*b multiples of 4.
inline bool fused_softmax_works(const orch_model& model, std::int64_t micro_batch,
                                std::int64_t tensor_parallel, double element) {
  const std::int64_t batches = model.heads / tensor_parallel * micro_batch;
  return element == 2 && model.seq > 16 && model.seq <= 2048 && model.seq % 4 == 0 &&
         batches % 4 == 0;
}

// Adafactor's means are of whole matrices, wherever their parts are: sums of squares of rows, columns
// and updates go round. Numbers of a layer, of the words, and of what is beside them.
inline double layer_statistics(const Transformer& model) { return 16 * model.hidden + 12; }
inline double word_statistics(const Transformer& model) { return model.padded_vocab + model.hidden + 1; }
inline double first_statistics(const Transformer& model) {
  return model.bloom ? 2 : model.seq + model.hidden + 1;
}
inline void emit_statistics(WorkSink& sink, double numbers, const Group& group) {
  if (group.size == 1) return;
  sink.op(during(collective("optimizer all-reduce", ORCH_ALL_REDUCE, 4 * numbers, group, 0.1),
                 {0, 0, 0, 1}),
          [&] { return say("4 B x ", numbers, " sums of rows, columns and updates"); });
}

// What all ranks of our own trainers must know before they decide: the norm, the loss, whether to
// stop. In one reduction.
inline void emit_agreement(const Transformer& model, WorkSink& sink, const Group& world) {
  constexpr double kBytes = 24;
  if (!model.lean || world.size == 1) return;
  sink.op(during(collective("norm and loss all-reduce", ORCH_ALL_REDUCE, kBytes, world), {0, 0, 0, 1}),
          [&] { return say("three numbers, over all ranks"); });
}

// ---- the layer ----

namespace transformer_parts {

// A product costs as much again twice in backward: for its input and for its weights.
inline void product(const Transformer& model, WorkSink& sink, const char* name, double n, double k,
                    bool again = true) {
  const Passes passes{1, model.full() && again ? 1.0 : 0.0, 2, 0};
  sink.op(during(gemm(name, model.tokens(), n, k), passes), [&] {
    return say("[s*b, k] x [k, n] = [", model.tokens(), ", ", k, "] x [", k, ", ", n, "]");
  });
}

inline void products(const Transformer& model, WorkSink& sink) {
  const double h = model.hidden, t = model.tensor_parallel;
  product(model, sink, "QKV", 3 * h / t, h);
  product(model, sink, "attention output", h, h / t);
  product(model, sink, "MLP up", 4 * h / t, h);
  product(model, sink, "MLP down", h, 4 * h / t, !model.lean);
}

// Flash attention (Dao et al. 2022) skips the masked half and recomputes the scores in backward:
// five products there against two in forward.
inline Passes attention_passes(const Transformer& model) {
  if (model.flash_attention) return {0.5, model.full() ? 0.5 : 0.0, 1.25, 0};
  return {1, model.again() ? 1.0 : 0.0, 2, 0};
}

inline void core_attention(const Transformer& model, WorkSink& sink) {
  const double s = model.seq, d = model.hidden / model.heads;
  const double batch = model.micro_batch * model.heads / model.tensor_parallel;
  const auto head_dim = static_cast<std::int64_t>(d);
  const auto passes = attention_passes(model);
  sink.op(during(attention("attention scores", s, s, d, batch, head_dim), passes), [&] {
    return say("b*heads/t = ", batch, " times [", s, ", ", d, "] x [", d, ", ", s, "]");
  });
  sink.op(during(attention("attention context", s, d, s, batch, head_dim), passes), [&] {
    return say("b*heads/t = ", batch, " times [", s, ", ", s, "] x [", s, ", ", d, "]");
  });
}

inline void traffic(const Transformer& model, WorkSink& sink, const char* name, double each,
                    double count, const char* what, Passes passes,
                    std::uint32_t kernel = ORCH_STREAMS) {
  const double bytes = each * count * model.element / 2;
  sink.op(during(moved(ORCH_MEMORY, name, bytes, kernel), passes), [&] {
    return say(each * model.element / 2, " B x ", count, " ", what, " = ", Size{bytes});
  });
}

// Biases, casts and residuals in kernels of their own pass over the activations again.
inline constexpr double kUnfused = 2;

// Bytes per element of [s, b, h], for 16-bit activations: 22 forward and 26 backward replicated
// over the tensor-parallel ranks, 20 and 28 sharded; sequence parallelism shards all of them.
inline void element_wise(const Transformer& model, WorkSink& sink) {
  const double t = model.tensor_parallel, replicas = model.sequence_parallel ? t : 1;
  const double apart = model.fused_kernels ? 1 : kUnfused;
  traffic(model, sink, "norms, dropout, GELU forward", apart * (22 / replicas + 20 / t),
          model.sbh(), "s*b*h", {1, model.full() ? 1.0 : 0.0, 0, 0}, ORCH_ELEMENT_WISE);
  traffic(model, sink, "norms, dropout, GELU backward", apart * (26 / replicas + 28 / t),
          model.sbh(), "s*b*h", {0, 0, 1, 0}, ORCH_ELEMENT_WISE);
}

// Per 16-bit score: softmax with dropout moves 9 and 11 bytes when fused, three times as much
// otherwise; the products around it, whose time on wide devices is that of the scores they write
// and read and not that of their operations, 4 and 8.
inline void softmax(const Transformer& model, WorkSink& sink) {
  if (model.flash_attention) return;  // the scores never leave the chip
  const double factor = model.fused_softmax ? 1 : 3;
  traffic(model, sink, "scores forward", 9 * factor + 4, model.scores(), "scores",
          {1, model.again() ? 1.0 : 0.0, 0, 0}, ORCH_SOFTMAX);
  traffic(model, sink, "scores backward", 11 * factor + 8, model.scores(), "scores", {0, 0, 1, 0},
          ORCH_SOFTMAX);
}

inline void tensor_collective(const Transformer& model, WorkSink& sink, const char* name,
                              std::uint32_t which, Passes passes, bool hidden = false) {
  const Group group{static_cast<std::int64_t>(model.tensor_parallel), 1};
  const double bytes = model.sbh() * model.element;
  sink.op(during(collective(name, which, bytes, group), passes, hidden), [&] {
    return say(model.element, " B x s*b*h = ", model.element, " x ", model.sbh(), " = ",
               Size{bytes}, " over ", model.tensor_parallel, " ranks");
  });
}

// After attention and after the MLP; backward before each; recomputation repeats the forward ones.
// With sequence parallelism, what went into a product was kept as a shard: backward gathers it again
// for the weights' gradient, under the product of the input's.
inline void tensor_collectives(const Transformer& model, WorkSink& sink) {
  if (model.tensor_parallel <= 1) return;
  const double again = model.full() ? 2 : 0, behind = model.full() && model.lean ? 1 : again;
  if (!model.sequence_parallel)
    return tensor_collective(model, sink, "tensor all-reduce", ORCH_ALL_REDUCE, {2, behind, 2, 0});
  tensor_collective(model, sink, "sequence all-gather", ORCH_ALL_GATHER, {2, again, 2, 0});
  tensor_collective(model, sink, "sequence all-gather", ORCH_ALL_GATHER, {0, 0, 2, 0}, true);
  tensor_collective(model, sink, "sequence reduce-scatter", ORCH_REDUCE_SCATTER, {2, behind, 2, 0});
}

inline void overhead(const Transformer& model, WorkSink& sink) {
  const double n = model.overheads;
  sink.op(during(make_op(ORCH_OVERHEAD, "layer overhead"), {n, model.full() ? n : 0, n, 0}),
          [&] { return say(n, " per layer and pass"); });
}

}  // namespace transformer_parts

// The computation of one layer and its tensor-parallel collectives, into the current block.
inline void emit_layer(const Transformer& model, WorkSink& sink) {
  transformer_parts::products(model, sink);
  transformer_parts::core_attention(model, sink);
  transformer_parts::element_wise(model, sink);
  transformer_parts::softmax(model, sink);
  transformer_parts::tensor_collectives(model, sink);
  transformer_parts::overhead(model, sink);
}

// ---- embedding and LM head ----

// Rows in and out, then dropout (or bloom's norm): four passes over [s, b, h], three in backward.
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

// Three numbers of each row over the ranks that share the vocabulary: highest logit, sum of
// exponentials, the target's logit.
inline void cross_entropy_exchange(const Transformer& model, WorkSink& sink) {
  const double t = model.tensor_parallel;
  const Group group{static_cast<std::int64_t>(t), 1};
  const auto op =
      model.lean ? during(collective("cross entropy all-reduce", ORCH_ALL_GATHER,
                                     12 * t * model.tokens(), group), {1, 0, 0, 0})
                 : during(collective("cross entropy all-reduce", ORCH_ALL_REDUCE,
                                     4 * model.tokens(), group), {3, 0, 0, 0});
  sink.op(op, [&] {
    return model.lean ? say("12 B x ", model.tokens(), " tokens from each of ", t, " ranks")
                      : say("4 B x ", model.tokens(), " tokens, over ", t, " ranks");
  });
}

// Logits over the rank's part of the vocabulary, cross entropy in fp32 without gathering them: about
// 50 bytes per logit.
inline void emit_head(const Transformer& model, WorkSink& sink) {
  using namespace transformer_parts;
  const double t = model.tensor_parallel, n = model.padded_vocab / t;
  sink.op(during(gemm("logits", model.tokens(), n, model.hidden), {1, 0, 2, 0}), [&] {
    return say("[s*b, h] x [h, V/t] = [", model.tokens(), ", ", model.hidden, "] x [", model.hidden,
               ", ", n, "]");
  });
  const double bytes = 25 * model.logits();
  sink.op(during(moved(ORCH_MEMORY, "cross entropy", bytes, ORCH_CROSS_ENTROPY), {1, 0, 1, 0}), [&] {
    return say("25 B x ", model.logits(), " logits = ", Size{bytes}, " in each pass");
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

// One layer's activations for one micro-batch: s*b*h*(10 + 24/t + 5*a*s/(h*t)) bytes in 16 bit, or
// s*b*h*(34/t + 5*a*s/(h*t)) with sequence parallelism. Flash attention keeps no scores. Ours keep no
// masks: two bytes less, and scores once.
inline double layer_activations(const Transformer& model, bool with_scores, bool all = true) {
  const double t = model.tensor_parallel;
  double replicated = model.lean ? 8 : 10, cut = 24;
  if (!all && model.lean) replicated -= 4, cut -= 8;  // two norms, what GELU gives
  const double linear = replicated / (model.sequence_parallel ? t : 1) + cut / t;
  const double each = model.lean ? 2 : 5;
  const double scores = with_scores && !model.flash_attention ? each * model.scores() : 0;
  return (model.sbh() * linear + scores) * model.element / 2;
}

// What a layer keeps from its forward to its backward: all, all but the scores, or its input.
inline double kept_per_layer(const Transformer& model) {
  const double replicas = model.sequence_parallel ? model.tensor_parallel : 1;
  if (model.full()) return model.element * model.sbh() / replicas;
  const bool all = model.recompute == ORCH_RECOMPUTE_NONE;
  return layer_activations(model, all, all);
}

// Alive only while one layer runs backward: what recomputation brings back.
inline double recomputed_layer(const Transformer& model) {
  if (model.full()) return layer_activations(model, true);
  if (model.recompute == ORCH_RECOMPUTE_NONE) return 0;
  if (model.lean) return layer_activations(model, true) - kept_per_layer(model);
  return model.flash_attention ? 0 : 5 * model.scores() * model.element / 2;
}

// Logits and their gradient as computed, and both in fp32 for the cross entropy: 12 bytes each in
// mixed precision. Ours become their gradient in place, some rows at a time: a gigabyte of them, in
// fp32 beside where ranks share them.
inline double logits_memory(const Transformer& model) {
  if (!model.lean) return (2 * model.element + 8) * model.logits();
  const double copies = model.tensor_parallel == 1 ? 1 : model.element == 4 ? 2 : 5;
  return std::min(copies * model.element * model.logits(), 1073741824.0);
}

// "activations" of the stages first..last, whose micro-batches in flight hold `layers` layers.
inline void emit_activations(const Transformer& model, WorkSink& sink, std::int64_t first,
                             std::int64_t last, double layers) {
  const double kept = kept_per_layer(model);
  sink.memory("activations", first, last, layers * kept, [&] {
    return say(layers, " layers in flight x ", Size{kept},
               model.full() ? " (inputs only)" : " (s*b*h*(10 + 24/t + 5*a*s/(h*t)))", " = ",
               Size{layers * kept});
  });
}

// "communicators": what NCCL (or Gloo) holds for each group of more than one rank, whatever its
// size.
inline void emit_communicators(WorkSink& sink, std::int64_t last, int groups) {
  sink.memory(
      "communicators", 0, last, groups, [&] { return say(groups, " kinds of groups"); },
      ORCH_COMMUNICATORS);
}

// "recomputed layer" of the stages 0..last, and "logits" of the last. The head is done before the
// first layer is recomputed: there only the larger of the two counts.
inline void emit_peaks(const Transformer& model, WorkSink& sink, std::int64_t last) {
  const double layer = recomputed_layer(model), logits = logits_memory(model);
  const std::int64_t end = logits > layer ? last - 1 : last;
  if (end >= 0)
    sink.memory("recomputed layer", 0, end, layer,
                [&] { return say("one layer while it runs backward = ", Size{layer}); });
  if (end < last)
    sink.memory("logits", last, last, logits, [&] {
      return say(logits / model.logits(), " B x ", model.logits(), " logits = ", Size{logits});
    });
}

}  // namespace orch::backend

#pragma GCC visibility pop
