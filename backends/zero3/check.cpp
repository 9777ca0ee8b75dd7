#include "backends/zero3/settings.h"
#include "backends/zero3/setup.h"
#include "core/price/backend/checks.h"

namespace orch::zero3 {
namespace {

using namespace backend;

void check_offload(const Zero3Setup& setup, ProblemSink& problems) {
  if (setup.offload != Offload::none && setup.model.lean && setup.fsdp)
    problems.reject("offload", "engine = 'orch' offloads with zero3 and deepspeed only",
                    "try zero3{ offload = 'full' } or engine = 'framework'");
  if (setup.waits_for_copies())
    problems.warn("offload",
                  "the one run that was measured, a 2.7B on an H200, took 1.6 times its estimate",
                  "try some steps of it before you choose");
  if (setup.offload == Offload::full && setup.stage < 3)
    problems.reject("offload",
                    say("stage ", setup.stage, " keeps whole weights on the device: there are no",
                        " shards of them to offload"),
                    "try stage = 3 or offload = 'optimizer'");
  if (setup.offload != Offload::none && setup.states.adafactor && !setup.model.lean)
    problems.reject("offload", "only AdamW can run on the host",
                    "try optimizer = 'adamw' or offload = 'none'");
  if (setup.offload == Offload::none || setup.offload_fraction == 1) return;
  if (!setup.model.lean)
    problems.reject("offload_fraction", "the framework offloads all layers or none",
                    "try offload_fraction = 1 or engine = 'orch'");
  if (setup.states.adafactor)
    problems.reject("offload_fraction", "Adafactor cannot be split between device and host",
                    "try offload_fraction = 1 or optimizer = 'adamw'");
}

// Checks a pipeline with FSDP, as in torchtitan.
void check_pipeline(const BackendRun& run, const Zero3Setup& setup, ProblemSink& problems) {
  const std::int64_t p = setup.pipeline, v = setup.chunks, layers = run.model().layers;
  if (!setup.staged()) {
    if (v > 1)
      problems.reject("interleave", say("interleave = ", v, " needs a pipeline, not one stage"),
                      "try interleave = 1, or a pipeline_parallel of 2 or more");
    return;
  }
  if (setup.model.lean)
    problems.reject("pipeline_parallel", "our own trainer has no pipeline beside FSDP",
                    "try engine = 'framework', or megatron");
  const auto items = setup.partition.items();
  if (p * v > items)
    problems.reject(v > 1 ? "interleave" : "pipeline_parallel",
                    say(p * v, " parts of ", layers, " layers and 2 ends: some would have none"),
                    say("try pipeline_parallel = ", std::min(p, items), " and interleave = 1"));
  else if (setup.partition.loss() > 0)
    problems.warn("pipeline_parallel",
                  say(layers, " layers and 2 ends in ", p * v,
                      " parts: ", setup.partition.portion(), " in the largest, ",
                      PrintedPercent{setup.partition.loss()}, " of the time may be lost"),
                  say("try layers = ", round_up(items, p * v) - 2));
  if (v > 1 && run->accumulate % p != 0)
    problems.reject(
        "interleave",
        say("accumulate = ", run->accumulate, " is not a multiple of pipeline_parallel = ", p),
        say("try accumulate = ", round_up(run->accumulate, p)));
  if (setup.model.sizes.tied)
    problems.reject("pipeline_parallel", "torchtitan ties no words across a pipeline's stages",
                    "try a model with a head of its own, or megatron");
  if (setup.offload != Offload::none)
    problems.reject("offload", "beside a pipeline weights stay on the device for the whole step",
                    "try offload = 'none' or pipeline_parallel = 1");
  check_bubble(run, v, problems);
}

void check_activations(const Zero3Setup& setup, ProblemSink& problems) {
  if (setup.offload_activations && !setup.model.full())
    problems.reject("offload_activations",
                    "without recomputation there are no saved inputs to offload",
                    "try recompute = 'full' or offload_activations = false");
}

void check_tied(const Zero3Setup& setup, ProblemSink& problems) {
  if (!setup.scatters_twice) return;
  if (!setup.model.lean)
    problems.reject("tied_scatter", "the framework decides this itself",
                    "try tied_scatter = 'once' or engine = 'orch'");
  else if (!setup.model.sizes.tied)
    problems.reject("tied_scatter", "the head is not tied to the embedding",
                    "try tied_scatter = 'once'");
  else if (!setup.moves_gradients())
    problems.reject("tied_scatter", "gradients stay whole until the last backward is done",
                    "try tied_scatter = 'once', or stage 2 or 3 on several ranks");
}

void check_overlap(const Zero3Setup& setup, ProblemSink& problems) {
  if (!setup.model.overlap_tensor) return;
  if (setup.model.lean)
    problems.reject("overlap_tensor", "only frameworks cut products to send their parts",
                    "try overlap_tensor = false, or engine = 'framework'");
  else if (setup.tensor == 1)
    problems.warn("overlap_tensor", "does nothing without tensor_parallel",
                  "try overlap_tensor = false");
}

void check_groups(const BackendRun& run, const Zero3Setup& setup, ProblemSink& problems) {
  const std::int64_t group = setup.shard_ranks;
  if (setup.ranks == 1 && setup.offload == Offload::none)
    problems.warn("gpus", "there is one rank: nothing can be sharded", "try gpus = 2 or more");
  if (setup.ranks % group != 0)
    problems.reject("hybrid_shard_group", say(setup.ranks, " ranks do not make groups of ", group),
                    say("try hybrid_shard_group = ", divisor_below(setup.ranks, group)));
  else if (group < setup.ranks && group > 1 && group * setup.tensor > run.domain())
    problems.warn(
        "hybrid_shard_group",
        say("groups of ", group, setup.tensor > 1 ? say(" x ", setup.tensor) : std::string(),
            " span ", place_of(run), "s of ", run.domain(),
            " GPUs: every gather crosses the network"),
        say("try hybrid_shard_group = ",
            divisor_below(setup.ranks, std::max<std::int64_t>(1, run.domain() / setup.tensor))));
}

// Warns about settings that have no effect.
void check_idle(const BackendRun& run, const Zero3Setup& setup, ProblemSink& problems) {
  const auto idle = [&](const char* setting, std::string fact, const char* fix) {
    problems.warn(setting, std::move(fact), fix);
  };
  if (run.strategy() == "fsdp") {
    if (const auto asked = settings.hybrid_shard_group(run); asked > setup.ranks)
      idle("hybrid_shard_group",
           say("there are ", setup.ranks, " ranks, and groups of ", asked, " are all of them"),
           "try sharding = 'full', or smaller groups");
    return;
  }
  if (setup.offload == Offload::none && setup.offload_fraction != 1)
    idle("offload_fraction", "it has no effect without offloading", "try offload = 'optimizer'");
  if (setup.offload != Offload::none && setup.offload_fraction == 0)
    idle("offload", "offload_fraction = 0 leaves all of it on the device", "try offload = 'none'");
  if (setup.stage < 3 && setup.prefetch != 1)
    idle("prefetch", say("stage ", setup.stage, " has whole weights: nothing is gathered ahead"),
         "leave it out, or try stage = 3");
}

// Stages 2 and 3 communicate with every micro-batch; stage 1 does so once per step, in fp32 with
// our own trainer.
void check_traffic(const BackendRun& run, const Zero3Setup& setup, ProblemSink& problems) {
  if (setup.stage == 1 || setup.micro_batches == 1 || run->nodes == 1 || setup.staged()) return;
  if (setup.shard_ranks < setup.ranks) return;
  const auto& states = setup.states;
  const double params = setup.params(), rounds = static_cast<double>(setup.micro_batches);
  const double gathers = setup.stage == 2 ? 0 : setup.keeps_all ? 1 : 2;
  const double moved = params * (gathers * states.weights + setup.sent_gradient());
  const double sent = setup.model.lean || setup.fp32_reduce ? 4 : states.weights;
  const double once = params * (sent + states.weights);
  const double state = params * (states.weights + (setup.model.lean ? 4 : states.weights) +
                                 states.optimizer() / static_cast<double>(setup.ranks));
  constexpr double kLargestGpu = 192e9;
  const double room = run.usable_memory() > 0 ? run.usable_memory() : kLargestGpu;
  problems.warn(
      "accumulate",
      say("each of ", setup.micro_batches, " micro-batches moves ", PrintedBytes{moved},
          " between ", run->nodes, " nodes"),
      state > room || once >= rounds * moved
          ? say("try a larger micro_batch: fewer of them move less")
          : say("if ", PrintedBytes{state}, " of states fit a GPU, deepspeed{ stage = 1 } moves ",
                PrintedBytes{once}, " once per step"));
}

}  // namespace

void check_setup(const BackendRun& run, const Zero3Setup& setup, ProblemSink& problems) {
  check_tensor(run, problems);
  check_attention(run, setup.model, problems);
  check_context(run, problems);
  check_offload(setup, problems);
  check_pipeline(run, setup, problems);
  check_activations(setup, problems);
  check_tied(setup, problems);
  check_overlap(setup, problems);
  check_groups(run, setup, problems);
  check_idle(run, setup, problems);
  check_traffic(run, setup, problems);
}

}  // namespace orch::zero3
