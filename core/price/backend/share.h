#pragma once

// One rank's share of a model, for authors of backends: its sizes, its parameters, and the options
// of its training.

#include <cmath>
#include <cstdint>
#include <numeric>
#include <optional>

#include "core/plan/model.h"
#include "include/orch/backend.h"

#pragma GCC visibility push(hidden)

namespace orch::backend {

// The modules that backward can recompute (modules.h).
enum Module : std::uint32_t {
  kCoreAttention = 1,  // scores, softmax and context
  kUpProjections = 2,  // queries, keys and values of latent attention
  kNorms = 4,          // both norms of a layer
  kDenseMlp = 8,
  kExpertActivation = 16,  // activation function between the products of routed experts
  kExperts = 32            // the whole layer of experts, including its router
};

// The alignment of tensors in our own trainers, for ranks that share states: multiples of 64
// elements (256 bytes of fp32) and of 8 for each rank.
inline std::int64_t alignment(std::int64_t sharing) {
  return std::lcm<std::int64_t>(64, 8 * sharing);
}

// C++ issues a layer in a fifth of the time that Python needs: 2 us per operation instead of 10.
inline constexpr double kFromCpp = 0.2;

// What is launched as a CUDA graph, which costs the host one call: of a layer of experts its router
// and the preparation of the exchange, attention too, or everything.
enum class CudaGraphs { none, router, attention, all };

// The sizes of a model on one rank. s, b, h, a, t in the formulas are seq, micro_batch, hidden,
// heads and tensor_parallel.
struct Transformer {
  plan::Model sizes;  // of the whole model
  double layers = 0;
  double hidden = 0;
  double heads = 0;
  double vocab = 0;         // as given
  double padded_vocab = 0;  // as stored
  double seq = 0;
  double micro_batch = 1;
  double tensor_parallel = 1;
  double context_parallel = 1;        // ranks that share each sample
  double expert_parallel = 1;         // ranks that the experts are distributed to
  double expert_tensor_parallel = 0;  // ranks that share each expert; 0: as tensor_parallel
  double expert_nodes = 0;  // number of nodes per token, for one message each; 0: one per expert
  bool overlap_experts = false;  // tokens travel while products of another micro-batch run
  double element = 2;            // bytes of an activation
  std::uint32_t recompute = ORCH_RECOMPUTE_NONE;
  std::uint32_t modules = 0;  // mask of enum Module for ORCH_RECOMPUTE_SELECTIVE; 0: core attention
  bool sequence_parallel = false;
  bool overlap_tensor = false;   // its gathers overlap the products
  bool overlap_scatters = true;  // and then its scatters too
  bool flash_attention = false;
  // Bytes of the products' operands, if below 16 bits; 0: they are not. Attention and messages use
  // 16 bits.
  double narrow = 0;
  bool fused_kernels = true;  // norms, bias with GELU, bias with dropout in one kernel each
  bool fused_softmax = true;
  // As our own trainers do it: the recomputation of a block skips its last product, whose result is
  // not needed; the cross entropy has one exchange; the head gathers its input once.
  bool lean = false;
  double align = 1;         // alignment of stored and sent tensors in our own trainers, in elements
  double overheads = 1;     // fixed costs per layer and pass, relative to a Python framework's
  double logit_bytes = 12;  // bytes per logit that a framework's cross entropy holds
  bool fused_loss = false;  // one kernel writes the gradient in the logit's place
  double heads_of_vocab = 1;  // LM heads on the last stage: more with multi-token prediction
  CudaGraphs graphs = CudaGraphs::none;
  std::optional<bool> drops_out = {};  // none: as usual for the model's family
  // PyTorch's operations run unfused: rotations and the gate's activation store their results too.
  bool eager = false;
  // As Megatron Core does it: the router's probabilities are applied between an expert's two
  // products (since 0.13), so that the output of the second one need not be stored; softmax gives
  // 16 bits, which are stored once.
  bool core = false;
  // The input that sequence parallelism gathered for a product is stored for its backward, not
  // gathered again.
  bool keeps_gathered = false;
  // Selective recomputation as PyTorch's frameworks do it: attention's result and every second
  // product's are stored, the others are recomputed.
  bool alternates = false;

  // Sets the options of our own trainer, with `sharing` ranks that share states.
  void make_lean(std::int64_t sharing) {
    lean = true, overheads = kFromCpp;
    align = static_cast<double>(alignment(sharing));
  }

  // The number of ranks that share an expert. If it is smaller than tensor_parallel, each rank of a
  // layer sends its own rows of a sample to the experts (Megatron Core: experts are folded over
  // tensor, context and data ranks).
  double expert_cuts() const {
    return expert_tensor_parallel > 0 ? expert_tensor_parallel : tensor_parallel;
  }
  bool folded() const { return expert_cuts() != tensor_parallel; }

  double tokens() const { return seq * micro_batch / context_parallel; }
  double sbh() const { return tokens() * hidden; }
  double scores() const {
    return micro_batch * heads * seq * seq / (tensor_parallel * context_parallel);
  }
  double logits() const { return tokens() * padded_vocab / tensor_parallel; }
  bool alternate() const { return alternates && recompute == ORCH_RECOMPUTE_SELECTIVE; }
  // Bytes of a stored product input, in the formulas' convention for 16-bit activations.
  double product_input() const { return narrow > 0 && !lean ? narrow : 2; }
  bool full() const { return recompute == ORCH_RECOMPUTE_FULL; }
  // True if one of these modules is recomputed.
  bool repeats(std::uint32_t module) const {
    return recompute == ORCH_RECOMPUTE_SELECTIVE && (modules & module) != 0;
  }
  // The number of recomputations (0 to 1), where `share` of the layers has the module or all of
  // them.
  double again(std::uint32_t module, double share = 1) const {
    return full() || repeats(module) ? share : 0;
  }
  // True if core attention is recomputed; flash attention always does that itself.
  bool again() const {
    if (full()) return true;
    const bool chosen = modules == 0 ? recompute != ORCH_RECOMPUTE_NONE : repeats(kCoreAttention);
    return chosen && !flash_attention;
  }
  // Models with biases are from the time when dropout was used.
  bool drops() const { return drops_out.value_or(sizes.bias); }

  // Widths in units of h, in which a layer's activations are counted.
  double qkv_widths() const {
    const double kv = sizes.latent() ? sizes.q_width() + sizes.value_width() : sizes.kv_width();
    return (sizes.q_width() + kv) / hidden;
  }
  double rotated_widths() const {
    return sizes.rope ? (sizes.q_width() + sizes.kv_width() / 2) / hidden : 0;
  }
  double value_widths() const { return sizes.value_width() / hidden; }
  // The MLP's inner widths, before and after its activation function. Experts count once for each
  // that a token is routed to.
  double up_widths() const { return sizes.up_width(inner()) / hidden; }
  double inner_widths() const { return inner() / hidden; }
  // The share of layers without experts.
  double dense() const {
    return sizes.mixture() ? static_cast<double>(sizes.dense_layers) / layers : 1;
  }
  double visited() const {
    return static_cast<double>(sizes.experts_per_token + sizes.shared_experts);
  }
  double inner() const {
    return dense() * static_cast<double>(sizes.ffn_hidden) +
           (1 - dense()) * visited() * static_cast<double>(sizes.expert_hidden);
  }

  // Parameters of one rank. Norms and the biases of row-parallel products are replicated over the
  // tensor-parallel ranks: this is below 1e-4 of a layer, and included only for our own trainer,
  // whose bytes are counted exactly.
  double shared_params() const {
    return 2 * sizes.norm_width() + (sizes.bias ? 2 * hidden : 0) + head_norm_params() +
           sizes.router_weights();
  }
  // The norms of queries and keys, which each rank applies to its own heads, with or without
  // sequence parallelism.
  double head_norm_params() const {
    return sizes.qk_norm ? 2 * static_cast<double>(sizes.head_dim) : 0;
  }
  // With latent attention, every tensor-parallel rank holds the low-rank projections, which belong
  // to no head.
  double narrow_params() const {
    if (!sizes.latent()) return 0;
    return static_cast<double>(sizes.q_rank + sizes.kv_rank + sizes.rope_dim) * hidden;
  }
  double layer_params() const {
    if (align > 1 && !sizes.mixture() && !sizes.latent()) return aligned_layer_params();
    const double copies = (lean ? shared_params() : 0) + narrow_params();
    return (sizes.layer_params() - experts_elsewhere()) / tensor_parallel +
           copies * (1 - 1 / tensor_parallel);
  }
  double aligned(double elements) const { return align * std::ceil(elements / align); }
  double aligned_norm() const { return (sizes.rms_norm ? 1 : 2) * aligned(hidden); }
  // Each tensor is aligned by itself: the weights of a product are cut by rows or by columns, the
  // bias of a row-parallel product is not cut.
  double aligned_layer_params() const {
    const double qkv = sizes.q_width() + sizes.kv_width(),
                 ffn = static_cast<double>(sizes.ffn_hidden);
    const double up = sizes.up_width(ffn), t = tensor_parallel;
    double sum = 2 * aligned_norm();
    for (const double width : {qkv, sizes.value_width(), up, ffn})
      sum += aligned(width * hidden / t);
    if (sizes.has_qkv_bias()) sum += aligned(qkv / t);
    if (sizes.bias) sum += aligned(up / t) + 2 * aligned(hidden);
    if (sizes.qk_norm) sum += 2 * aligned(static_cast<double>(sizes.head_dim));
    return sum;
  }
  // The experts' parameters that are on other ranks, relative to a tensor-parallel rank's share of
  // all; negative where it has more than that.
  double experts_elsewhere() const {
    if (expert_parallel == 1 && !folded()) return 0;
    return (1 - tensor_parallel / (expert_parallel * expert_cuts())) * expert_params();
  }
  // The parameters of a layer's routed experts, on all ranks.
  double expert_params() const {
    return (1 - dense()) * static_cast<double>(sizes.experts) *
           sizes.mlp_params(static_cast<double>(sizes.expert_hidden));
  }
  double embedding_params() const { return sizes.embedding_params() / tensor_parallel; }
  double head_params() const { return sizes.head_params() / tensor_parallel; }
  double padding_params() const {
    return aligned(padded_vocab * hidden / tensor_parallel) - embedding_params();
  }
  double head_padding_params() const { return sizes.tied ? 0 : padding_params(); }
  // Parameters replicated over the tensor-parallel ranks.
  double first_params() const {  // positions, or a norm
    return aligned(sizes.position_params()) + (sizes.embedding_norm ? aligned_norm() : 0);
  }
  double last_params() const { return aligned_norm(); }  // the final norm
  // Parameters of the whole model, if tensor_parallel is 1.
  double params() const {
    return layers * layer_params() + embedding_params() + padding_params() + head_params() +
           head_padding_params() + first_params() + last_params();
  }
};

inline Transformer transformer(const plan::Model& model, std::int64_t micro_batch) {
  Transformer result;
  result.sizes = model;
  result.layers = static_cast<double>(model.layers);
  result.hidden = static_cast<double>(model.hidden);
  result.heads = static_cast<double>(model.heads);
  result.vocab = result.padded_vocab = static_cast<double>(model.vocab);
  result.seq = static_cast<double>(model.seq);
  result.micro_batch = static_cast<double>(micro_batch);
  return result;
}

}  // namespace orch::backend

#pragma GCC visibility pop
