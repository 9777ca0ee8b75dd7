#pragma once

// The work of a layer of experts on one rank, for authors of backends: each token goes to some
// experts, which are distributed over expert_parallel ranks, and comes back. Tokens are assumed to
// be spread evenly. Origins: Lepikhin et al. 2020 (GShard) and Fedus et al. 2021 for the exchange;
// Liu et al. 2025 (MoE parallel folding) for experts that are cut over fewer ranks than attention;
// no constant here is fitted.

#include <cstdint>

#include "core/price/backend/ops.h"
#include "core/price/backend/share.h"
#include "core/price/backend/spec.h"
#include "core/price/backend/words.h"

#pragma GCC visibility push(hidden)

namespace orch::backend {

// The lengths of Adafactor's row and column means, summed over a layer's matrices, in units of h.
inline double adafactor_means(const Transformer& model) {
  return model.qkv_widths() + 1 + model.value_widths() + 1 + model.up_widths() + 1 +
         model.inner_widths() + 1;
}

// Bytes per element of [s, b, h] that are stored because tokens were sent to experts: copies of the
// experts' inputs, as products read them, and of their outputs, where these are weighted
// afterwards. A rank stores the rows of all ranks that share its experts, whatever part of a sample
// it holds itself.
inline double visited_bytes(const Transformer& model) {
  if (!model.sizes.mixture()) return 0;
  const double inputs = model.product_input(), outputs = model.core ? 0 : 2;
  const double rows = static_cast<double>(model.sizes.experts_per_token) * model.expert_cuts() /
                      model.tensor_parallel;
  return (1 - model.dense()) * rows * (inputs + outputs);
}

namespace expert_parts {

// The number of experts on a rank, and the rows that each of them gets from the tokens of all ranks
// that share these experts.
struct ExpertShare {
  double experts, rows;
};
inline ExpertShare dealt(const Transformer& model) {
  const auto experts = static_cast<double>(model.sizes.experts);
  const double visits = model.tokens() * static_cast<double>(model.sizes.experts_per_token);
  const double groups = model.expert_parallel * model.expert_cuts() / model.tensor_parallel;
  return {experts / model.expert_parallel, visits * groups / experts};
}

inline void product(const Transformer& model, WorkSink& sink, const char* name, double n,
                    double k) {
  const auto mine = dealt(model);
  const double share = 1 - model.dense();
  auto op = gemm(name, mine.rows, n, k);
  op.batch = mine.experts;
  sink.op(during(op, {share, model.again(kExperts, share), 2 * share, 0}), [&] {
    return say(mine.experts, " experts x [", mine.rows, ", ", k, "] x [", k, ", ", n, "]");
  });
}

// The share of the exchange that runs under products of another micro-batch where it may: the
// kernels of either wait for each other's, and share the multiprocessors (a profile of Qwen3-30B on
// 16 H100 in Megatron-Bridge's notes on overlap: 37 % of the communication, and a step 45 % of it
// shorter).
inline constexpr double kHiddenExchange = 0.45;

// The exchange of tokens with the experts' ranks, there and back in each pass: a token is sent once
// for each expert it is routed to, or, with expert_nodes, once for each node that has some of them,
// and then in the number format of the products (DeepSeek's DeepEP).
inline void exchange(const Transformer& model, WorkSink& sink) {
  if (model.expert_parallel == 1) return;
  const double share = 1 - model.dense();
  const bool by_node = model.expert_nodes > 0;
  const double visits =
      by_node ? model.expert_nodes : static_cast<double>(model.sizes.experts_per_token);
  const double rows = model.tokens() / (model.sequence_parallel ? model.tensor_parallel : 1);
  const double each =
      by_node && model.narrow > 0 ? (model.element + model.narrow) / 2 : model.element;
  const double bytes = rows * visits * model.hidden * each;
  const MeshGroup group{static_cast<std::int64_t>(model.expert_parallel),
                        static_cast<std::int64_t>(model.expert_cuts())};
  const auto add = [&](const char* name, double times, std::uint32_t hidden) {
    if (times == 0) return;
    sink.op(during(collective(name, ORCH_ALL_TO_ALL, bytes, group),
                   {times * share, model.again(kExperts, times * share), times * share, 0}, hidden),
            [&] {
              return say(each, " B x ", rows, " tokens x ", visits,
                         by_node ? " nodes x h = " : " experts x h = ", PrintedBytes{bytes},
                         " over ", model.expert_parallel, " ranks");
            });
  };
  const double hidden = model.overlap_experts ? 2 * kHiddenExchange : 0;
  add("expert all-to-all", 2 - hidden, ORCH_OPEN);
  add("expert all-to-all under products", hidden, ORCH_HIDDEN);
}

// Ranks that share an expert gather the rows sent to each of them, and scatter the sums.
inline void share_rows(const Transformer& model, WorkSink& sink) {
  if (!model.folded() || model.expert_cuts() == 1) return;
  const double share = 1 - model.dense(), again = model.again(kExperts, share);
  const double visits = static_cast<double>(model.sizes.experts_per_token);
  const double rows = model.tokens() * visits * model.expert_cuts() / model.tensor_parallel;
  const double bytes = rows * model.hidden * model.element;
  const MeshGroup group{static_cast<std::int64_t>(model.expert_cuts()), 1};
  const auto add = [&](const char* name, std::uint32_t which) {
    sink.op(during(collective(name, which, bytes, group), {share, again, share, 0}), [&] {
      return say(model.element, " B x ", rows, " rows x h = ", PrintedBytes{bytes}, " over ",
                 model.expert_cuts(), " ranks");
    });
  };
  add("expert all-gather", ORCH_ALL_GATHER);
  add("expert reduce-scatter", ORCH_REDUCE_SCATTER);
}

// The permutation of rows into the experts' order and back.
inline void orders(const Transformer& model, WorkSink& sink) {
  const double share = 1 - model.dense();
  const double visits = static_cast<double>(model.sizes.experts_per_token);
  const double mine = model.expert_cuts() / model.tensor_parallel;
  const double bytes = 4 * visits * mine * model.sbh() * model.element;
  sink.op(during(moved(ORCH_MEMORY, "tokens to experts and back", bytes),
                 {share, model.again(kExperts, share), share, 0}),
          [&] {
            return say("4 x ", visits, " experts x s*b*h",
                       mine == 1 ? std::string() : say(" x ", mine), " = ", PrintedBytes{bytes});
          });
}

}  // namespace expert_parts

inline void emit_experts(const Transformer& model, WorkSink& sink) {
  using namespace expert_parts;
  const auto& sizes = model.sizes;
  const double h = model.hidden, t = model.tensor_parallel, share = 1 - model.dense();
  const auto inner = static_cast<double>(sizes.expert_hidden);
  const double shared = static_cast<double>(sizes.shared_experts) * inner;
  const Passes passes{share, model.again(kExperts, share), 2 * share, 0};
  const auto router =
      gemm("router", model.tokens(), static_cast<double>(sizes.experts), h, ORCH_WIDE);
  sink.op(during(router, passes), [&] { return say("[s*b, h] x [h, ", sizes.experts, "]"); });
  const double cuts = model.expert_cuts();
  product(model, sink, "experts up", sizes.up_width(inner) / cuts, h);
  product(model, sink, "experts down", h, inner / cuts);
  if (shared > 0) {
    sink.op(
        during(gemm("shared experts up", model.tokens(), sizes.up_width(shared) / t, h), passes),
        [&] { return say("[s*b, h] x [h, ", sizes.up_width(shared) / t, "]"); });
    sink.op(during(gemm("shared experts down", model.tokens(), h, shared / t), passes),
            [&] { return say("[s*b, ", shared / t, "] x [", shared / t, ", h]"); });
  }
  orders(model, sink);
  exchange(model, sink);
  share_rows(model, sink);
}

}  // namespace orch::backend

#pragma GCC visibility pop
