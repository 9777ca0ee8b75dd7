#include "backends/zero3/options.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "backends/runtime/model/stage.h"
#include "backends/runtime/host/failure.h"
#include "backends/runtime/step/run_options.h"
#include "backends/runtime/step/settings.h"
#include "core/price/backend/states.h"

namespace orch::zero3 {
namespace {

using namespace train;

static_assert(backend::kStaged == Staging::kMost, "what is estimated is what is taken");

bool is_fsdp(const plan::Run& run) { return run.strategy->name == "fsdp"; }

}  // namespace

Mode mode_of(const plan::Run& run, std::int64_t replicas) {
  const Settings settings(run);
  Mode mode;
  mode.fsdp = is_fsdp(run);
  mode.shard_ranks = replicas;
  mode.ahead = settings.integer("prefetch");
  mode.overlap = settings.flag("overlap");
  if (run.strategy->name == "deepspeed") mode.stage = settings.integer("stage");
  if (!mode.fsdp) {
    mode.offload = offload_of(settings.text("offload"));
    const auto fraction = mode.offload == Offload::none ? 0 : settings.real_or("offload_fraction", 1);
    mode.on_host = static_cast<std::size_t>(units_on_host(fraction, run.model.layers));
    return mode;
  }
  const auto sharding = settings.text("sharding");
  mode.keeps_all = sharding == "grad_op";
  if (sharding != "hybrid") return mode;
  const auto asked = settings.integer("hybrid_shard_group");
  const auto node = std::max<std::int64_t>(1, run.partition->gpus_per_node / run.layout.tensor_parallel);
  mode.shard_ranks = std::min(asked > 0 ? asked : node, replicas);
  if (replicas % mode.shard_ranks != 0)
    throw Failed("bad_exit", fmt::format("{} ranks do not make groups of {}: use another "
                                         "hybrid_shard_group", replicas, mode.shard_ranks));
  return mode;
}

std::string name_of(const Mode& mode) {
  if (mode.shard_ranks == 1) return "nothing";
  if (mode.stage == 1) return "optimizer states";
  return mode.stage == 2 ? "gradients and optimizer states"
                         : "weights, gradients and optimizer states";
}

// So that every unit can be shared equally, at multiples of 16 bytes.
ParameterLayout layout_of(const plan::Run& run, const Mesh& mesh, const Mode& mode) {
  const auto tensor = run.layout.tensor_parallel;
  const auto& model = run.model;
  const auto specs = parameter_specs(model, Span::whole(model), padded_vocab(model, 128 * tensor));
  return lay_out(specs, {mesh.tensor_rank(), mesh.tensor_size()},
                 std::lcm<std::int64_t>(kAlign, 8 * mode.shard_ranks));
}

ParameterOptions parameter_options(const plan::Run& run, const Mode& mode, at::Device device,
                                   std::vector<Range> owned) {
  ParameterOptions options;
  // FSDP's parameters are fp32: what it gathers is a copy.
  options.dtype = mode.fsdp && mode.shard_ranks > 1 ? at::kFloat : dtype_of(run);
  options.device = device;
  options.owned = std::move(owned);
  options.on_host = mode.on_host;
  options.away = mode.is_full();
  options.whole_weights = !mode.moves_weights();
  options.whole_gradients = !mode.moves_gradients();
  return options;
}

SlotOptions slot_options(const plan::Run& run, const Mode& mode) {
  return {dtype_of(run), run.model.layers, mode.ahead, mode.keeps_all, mode.fsdp};
}

// As the products have them, as DeepSpeed and FSDP do, or in fp32.
RingOptions ring_options(const plan::Run& run, const Mode& mode) {
  const bool wide = run.text_setting("reduce_dtype") == "fp32";
  return {run.model.layers, wide ? at::kFloat : dtype_of(run), mode.overlap,
          run.text_setting("tied_scatter") == "twice"};
}

}  // namespace orch::zero3
