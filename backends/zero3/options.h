#pragma once

#include "backends/runtime/comm/mesh.h"
#include "backends/runtime/model/options.h"
#include "backends/runtime/step/reducer.h"
#include "backends/zero3/gradient_ring.h"
#include "backends/zero3/offload.h"
#include "backends/zero3/weights.h"
#include "core/plan/run.h"

namespace orch::zero3 {

// What a run asks for, whichever of the three strategies it names.
struct Mode {
  std::int64_t stage = 3;        // what is sharded: 1 the optimizer, 2 gradients too, 3 weights too
  std::int64_t shard_ranks = 1;  // that share one copy of the states
  std::int64_t ahead = 1;
  bool fsdp = false;       // fp32 weights are sharded, 16-bit copies gathered
  bool keeps_all = false;  // from forward to backward
  bool overlap = true;
  Offload offload = Offload::none;
  std::size_t on_host = 0;  // units; see units_on_host

  bool is_full() const { return offload == Offload::full; }
  // Some of the weights (gradients) are somewhere else than where they are used.
  bool moves_weights() const { return stage == 3 && (shard_ranks > 1 || is_full()); }
  bool moves_gradients() const { return is_full() || (stage > 1 && shard_ranks > 1); }
};
Mode mode_of(const plan::Run& run, std::int64_t replicas);
std::string name_of(const Mode& mode);  // "weights, gradients and optimizer states"

train::ParameterLayout layout_of(const plan::Run& run, const train::Mesh& mesh, const Mode& mode);
train::ParameterOptions parameter_options(const plan::Run& run, const Mode& mode, at::Device device,
                                          std::vector<train::Range> owned);
SlotOptions slot_options(const plan::Run& run, const Mode& mode);
RingOptions ring_options(const plan::Run& run, const Mode& mode);

}  // namespace orch::zero3
