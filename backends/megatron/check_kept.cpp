#include "backends/megatron/check_kept.h"

#include "backends/megatron/offload.h"
#include "backends/megatron/settings.h"
#include "core/price/backend/checks.h"

namespace orch::megatron {
namespace {

using namespace backend;

void check_modules(const BackendRun& run, const MegatronSetup& setup, ProblemSink& problems) {
  const auto reject = [&](const auto& fact, const char* fix) {
    problems.reject("recompute_modules", fact, fix);
  };
  if (setup.recompute_modules.empty()) return;
  if (!setup.engine.takes_modules || settings.recompute(run) != "selective")
    return reject(
        "modules are computed again one by one with engine = 'megatron' and recompute = "
        "'selective' only",
        "leave it out, or set these");
  const auto list = parse_modules(setup.recompute_modules);
  if (!list.unknown.empty())
    return reject(
        say("'", list.unknown, "' is not a module of Megatron-LM's layers"),
        "write it as 'layernorm+mlp': core_attn, mla_up_proj, layernorm, mlp, moe_act or moe");
  const auto& model = run.model();
  const auto asks = [&](std::uint32_t module) { return (list.modules & module) != 0; };
  if (asks(kUpProjections) && !model.latent())
    reject(say("a ", run->family, " without kv_rank has no up-projections of latent attention"),
           "leave out mla_up_proj");
  if (asks(kExperts | kExpertActivation) && !model.mixture())
    reject(say("a ", run->family, " has no experts"), "leave out moe and moe_act");
  if (asks(kExperts) && asks(kExpertActivation))
    reject("moe computes all of the experts again, moe_act a part of them",
           "leave out one of the two");
  if (asks(kDenseMlp) && model.mixture() && model.dense_layers == 0)
    problems.warn("recompute_modules", "mlp does nothing: every layer has experts",
                  "leave out mlp");
}

void check_precision(const MegatronSetup& setup, ProblemSink& problems) {
  // This setting has no effect for engines that sum in fp32 anyway.
  if (setup.fp32_accumulate && setup.model.element == 4)
    problems.warn("fp32_accumulate",
                  say("gradients are fp32 already with dtype = '", setup.dtype, "'"),
                  "try fp32_accumulate = false");
  check_gradient_sum(setup.dtype, setup.gradient_bytes(), setup.micro_batches,
                     setup.engine.made == GradientType::as_asked
                         ? "try fp32_accumulate = true: 2 bytes per parameter more"
                         : "try fp32_accumulate = true: 4 bytes per parameter more",
                     problems);
  if (setup.offload_optimizer && setup.states.adafactor && !setup.model.lean)
    problems.reject("offload", "only AdamW can run on the host",
                    "try optimizer = 'adamw' or offload = 'none'");
  if (setup.zero_stage > 0 && setup.data == 1)
    problems.warn("zero_stage", "data_parallel = 1: there is nothing to shard over",
                  "try zero_stage = 0, or more GPUs");
  if (setup.overlap_param_gather && (setup.zero_stage == 0 || setup.data == 1))
    problems.warn("overlap_param_gather", "without a sharded optimizer no weights are gathered",
                  "try zero_stage = 1, or overlap_param_gather = false");
}

// ---- Megatron-FSDP ----

// The traffic of a stage's weights and gradients: with each micro-batch, and once per step with
// ZeRO-1.
void warn_of_traffic(const BackendRun& run, const MegatronSetup& setup, ProblemSink& problems) {
  if (setup.micro_batches == 1 || run->nodes == 1 || setup.tensor * setup.data <= run.domain())
    return;
  const double params = static_cast<double>(setup.partition.largest()) * setup.model.layer_params();
  const double gathers = setup.zero_stage == 3 ? 2 : 0;
  const double moved = params * (gathers * setup.states.weights + setup.gradient_bytes());
  const double once = params * (setup.states.weights + setup.gradient_bytes());
  problems.warn("zero_stage",
                say("each of ", setup.micro_batches, " micro-batches moves ", PrintedBytes{moved},
                    " between nodes"),
                say("if states fit, zero_stage = 1 moves ", PrintedBytes{once}, " once per step"));
}

void check_sharding(const BackendRun& run, const MegatronSetup& setup, ProblemSink& problems) {
  if (!setup.scatters_each()) return;
  const auto stage = say("zero_stage = ", setup.zero_stage);
  if (!setup.engine.shards_all)
    return problems.reject(
        "zero_stage",
        say("engine = '", setup.engine.name, "' shards the optimizer alone where layers and ",
            "stages are shared"),
        "try zero_stage = 1, engine = 'megatron', or zero3 or fsdp");
  if (setup.states.adafactor)
    problems.reject("optimizer", say(stage, " is Megatron-FSDP's, which has no Adafactor"),
                    "try optimizer = 'adamw' or zero_stage = 1");
  if (setup.asks_fill_bubbles)
    problems.reject("fill_bubbles",
                    say(stage, " reduces a layer's gradients as soon as its backward is done"),
                    "try fill_bubbles = false or zero_stage = 1");
  if (setup.model.overlap_tensor)
    problems.warn("overlap_tensor",
                  "before Blackwell it wants CUDA_DEVICE_MAX_CONNECTIONS = 1, which Megatron-FSDP "
                  "refuses",
                  say("try overlap_tensor = false or zero_stage = 1"));
  if (setup.offload_optimizer)
    problems.warn("offload", "no run of Megatron-FSDP with its optimizer on the host is known",
                  "try some steps of it before you choose, or zero_stage = 1");
  if (setup.data > 1) warn_of_traffic(run, setup, problems);
}

// ---- activations on the host ----

void check_offloaded_modules(const BackendRun& run, const MegatronSetup& setup,
                             ProblemSink& problems) {
  const auto reject = [&](const auto& fact, const char* fix) {
    problems.reject("offload_modules", fact, fix);
  };
  const auto list = parse_modules(setup.offload_modules, kOffloaded);
  if (!list.unknown.empty())
    return reject(
        say("'", list.unknown, "' is not a module whose input Megatron-LM offloads"),
        "write it as 'core_attn+attn_proj': attn_norm, qkv_linear, core_attn, attn_proj, mlp_norm, "
        "expert_fc1 or moe_act");
  const auto asks = [&](std::uint32_t modules) { return (list.modules & modules) != 0; };
  if (asks(kInputOfOutput) && !asks(kInputOfAttention))
    reject("attn_proj reads what core_attn gives, which the backward of core_attn needs as well",
           "add core_attn");
  if (asks(kInputOfExperts | kInputOfActivation) && !run.model().mixture())
    reject(say("a ", run->family, " has no experts"), "leave out expert_fc1 and moe_act");
  if (asks(kInputOfExperts | kInputOfActivation) && setup.model.repeats(kExperts))
    reject("recompute_modules computes all of the experts again",
           "leave out expert_fc1 and moe_act, or moe there");
}

// Checks the offload of whole layers: Megatron Core's cpu_offloading.
void check_offloaded_layers(const MegatronSetup& setup, ProblemSink& problems) {
  const char* modules = "name offload_modules, such as 'core_attn+attn_proj'";
  if (setup.pipeline > 1)
    problems.reject("offload_activations", "Megatron-LM offloads whole layers on one stage only",
                    modules);
  if (setup.model.recompute != ORCH_RECOMPUTE_NONE)
    problems.reject("offload_activations",
                    "Megatron-LM offloads whole layers only where nothing is computed again",
                    "try recompute = 'none', or name offload_modules");
  if (setup.offload_layers >= setup.partition.layers)
    problems.reject("offload_layers",
                    say("Megatron-LM keeps one of ", setup.partition.layers, " layers at least"),
                    say("try offload_layers = ", setup.partition.layers - 1));
}

void check_offload(const BackendRun& run, const MegatronSetup& setup, ProblemSink& problems) {
  if (!setup.offload_activations) {
    if (!setup.offload_modules.empty() || setup.offload_layers > 0)
      problems.warn(setup.offload_layers > 0 ? "offload_layers" : "offload_modules",
                    "does nothing without offload_activations",
                    "try offload_activations = true, or leave it out");
    return;
  }
  if (!setup.engine.takes_modules)
    return problems.reject("offload_activations",
                           say("engine = '", setup.engine.name, "' keeps them on the device"),
                           "try engine = 'megatron', offload_activations = false, or zero3");
  if (setup.model.full())
    return problems.reject("offload_activations",
                           "Megatron-LM offloads what layers keep, and all of it is computed again",
                           "try recompute = 'selective' or 'none'");
  if (setup.offload_modules.empty()) return check_offloaded_layers(setup, problems);
  if (setup.offload_layers > 0)
    problems.reject("offload_layers", "whole layers and single modules exclude each other",
                    "leave out offload_layers or offload_modules");
  check_offloaded_modules(run, setup, problems);
}

}  // namespace

void check_kept(const BackendRun& run, const MegatronSetup& setup, ProblemSink& problems) {
  check_modules(run, setup, problems);
  check_precision(setup, problems);
  check_sharding(run, setup, problems);
  check_offload(run, setup, problems);
}

}  // namespace orch::megatron
