#include <algorithm>
#include <numeric>

#include "backends/megatron/check_kept.h"
#include "backends/megatron/settings.h"
#include "backends/megatron/setup.h"
#include "core/price/backend/checks.h"

namespace orch::megatron {
namespace {

using namespace backend;

void check_sequence(const BackendRun& run, const MegatronSetup& setup, ProblemSink& problems) {
  // Our trainer shares the rows of all samples of the micro-batch together; others share positions.
  const bool lean = setup.model.lean;
  const std::int64_t t = run->tensor_parallel,
                     rows = (lean ? run->micro_batch : 1) * run.model().seq;
  if (!setup.asks_sequence_parallel) return;
  if (rows % t != 0)
    problems.reject(
        "sequence_parallel",
        say(lean ? "micro_batch * seq = " : "seq = ", rows,
            " is not divisible by tensor_parallel = ", t),
        say("try seq = ", round_up(run.model().seq, t), " or sequence_parallel = false"));
  if (t == 1)
    problems.warn("sequence_parallel", "does nothing with tensor_parallel = 1",
                  "try sequence_parallel = false, or a tensor_parallel of 2 or more");
}

void check_gathered(const BackendRun& run, const MegatronSetup& setup, ProblemSink& problems) {
  if (!settings.keep_gathered(run)) return;
  if (!setup.engine.takes_keep_gathered)
    problems.reject("keep_gathered", "only nanotron keeps what was gathered for a product",
                    "try keep_gathered = false, or engine = 'nanotron'");
  else if (!setup.model.sequence_parallel)
    problems.warn("keep_gathered", "nothing is gathered without sequence_parallel",
                  "try sequence_parallel = true or keep_gathered = false");
}

void check_overlap(const BackendRun& run, const MegatronSetup& setup, ProblemSink& problems) {
  if (!setup.model.overlap_tensor) return;
  if (!setup.engine.overlaps_tensor)
    problems.reject("overlap_tensor", "only Megatron-LM cuts products to send their parts",
                    "try overlap_tensor = false, or engine = 'megatron'");
  else if (!setup.model.sequence_parallel)
    problems.warn(
        "overlap_tensor", "does nothing without sequence_parallel and tensor_parallel",
        run->tensor_parallel > 1 ? "try sequence_parallel = true" : "try overlap_tensor = false");
}

// The largest stage determines the rate; and while all stages work on a chunk of theirs, so does
// the largest of these chunks, as long as no micro-batch waits in between.
void warn_of_uneven_chunks(const MegatronSetup& setup, const std::string& fact,
                           const std::string& fix, ProblemSink& problems) {
  const auto p = static_cast<double>(setup.pipeline),
             layers = static_cast<double>(setup.partition.layers);
  const auto [fewest, most] = std::minmax_element(setup.uneven.begin(), setup.uneven.end());
  const std::int64_t largest = setup.partition.largest();
  double beats = 0;
  for (auto at = setup.uneven.begin(); at != setup.uneven.end(); at += setup.pipeline)
    beats += static_cast<double>(*std::max_element(at, at + setup.pipeline));
  const double least = static_cast<double>(largest) * p / layers - 1,
               bound = beats * p / layers - 1;
  problems.warn("interleave",
                say(fact, ": chunks of ", *fewest, " to ", *most, " layers, ", largest,
                    " on the largest stage; ", PrintedPercent{least},
                    bound > least ? say(" to ", PrintedPercent{bound}) : std::string(),
                    " of the time is lost"),
                fix);
}

void check_interleave(const BackendRun& run, const MegatronSetup& setup, ProblemSink& problems) {
  const std::int64_t p = setup.pipeline, v = setup.chunks, layers = run.model().layers;
  if (v == 1) return;
  if (p == 1)
    problems.reject("interleave", say("interleave = ", v, " needs a pipeline, not one stage"),
                    "try interleave = 1, or a pipeline_parallel of 2 or more");
  if (!setup.engine.interleaves)
    problems.reject("interleave", "DeepSpeed's pipeline does not interleave",
                    "try interleave = 1 or engine = 'megatron'");
  // Megatron-Core counts embedding and head as a layer each; our trainer does not.
  const bool counted = setup.partition.count_embeddings && !setup.model.lean;
  const std::int64_t dealt = layers + (counted ? 2 : 0);
  if (setup.partition.count_embeddings && setup.model.lean)
    problems.reject("interleave",
                    "our own trainer interleaves stages of stage_partition = 'uniform' only",
                    "try stage_partition = 'uniform', engine = 'megatron' or interleave = 1");
  if (dealt % (p * v) != 0) {
    const auto fact = say(counted ? "layers + embeddings = " : "layers = ", dealt,
                          " is not divisible by pipeline_parallel * interleave", " = ", p, " * ", v,
                          " = ", p * v);
    const auto fix =
        say("try ",
            !setup.model.lean && !counted && (layers + 2) % (p * v) == 0
                ? "stage_partition = 'transformer|embedding', "
                : "",
            "interleave = ", layers % p == 0 ? divisor_below(layers / p, v) : std::int64_t{1},
            " or layers = ", round_up(dealt, p * v) - (dealt - layers));
    if (setup.uneven.empty() || dealt < p * v)
      problems.reject("interleave", fact, fix);
    else
      warn_of_uneven_chunks(setup, fact, fix, problems);
  }
  if (run->accumulate % p == 0) return;
  const auto fact =
      say("accumulate = ", run->accumulate, " is not a multiple of pipeline_parallel = ", p);
  const auto fix = say("try accumulate = ", round_up(run->accumulate, p));
  if (setup.model.lean)
    problems.warn("interleave",
                  say(fact, ": a group of micro-batches that is not full leaves stages idle"), fix);
  else
    problems.reject("interleave", fact, fix);
}

void check_filling(const MegatronSetup& setup, ProblemSink& problems) {
  if (!setup.asks_fill_bubbles) return;
  if (setup.pipeline == 1)
    problems.warn("fill_bubbles", "does nothing with pipeline_parallel = 1",
                  "try fill_bubbles = false, or a pipeline_parallel of 2 or more");
  else if (setup.chunks > 1)
    problems.reject("fill_bubbles", "does not go with interleave",
                    "try interleave = 1 or fill_bubbles = false");
}

std::int64_t sum_of(const std::vector<std::int64_t>& counts) {
  return std::accumulate(counts.begin(), counts.end(), std::int64_t{0});
}

// Checks a layout that was given as a list.
void check_listed(const MegatronSetup& setup, ProblemSink& problems) {
  const auto& partition = setup.partition;
  const auto listed = static_cast<std::int64_t>(partition.listed.size());
  if (listed == 0)
    return problems.reject("stage_layers",
                           say("'", setup.stage_layers, "' is not a list of integers"),
                           "write it as '7,7,6'");
  if (listed != setup.pipeline)
    problems.reject("stage_layers",
                    say(listed, " stages are listed of pipeline_parallel = ", setup.pipeline),
                    "list one number for each stage");
  if (const auto sum = sum_of(partition.listed); sum != partition.layers)
    problems.reject("stage_layers",
                    say("lists ", sum, " layers, and the model has ", partition.layers),
                    "let them add up");
  if ((setup.chunks > 1 && setup.uneven.empty()) || partition.count_embeddings)
    problems.reject("stage_layers", "does not go with interleave or stage_partition",
                    setup.engine.takes_uneven_chunks
                        ? "list the layers of each chunk, and try stage_partition = 'uniform'"
                        : "try interleave = 1 and stage_partition = 'uniform'");
}

// Suggests numbers that divide evenly: of stages, if not far fewer, or of layers.
std::string even_stages(const StagePartition& partition, std::int64_t p) {
  const auto fewer = divisor_below(partition.items(), p);
  const auto layers = round_up(partition.items(), p) - (partition.count_embeddings ? 2 : 0);
  return 2 * fewer < p ? say("try layers = ", layers)
                       : say("try pipeline_parallel = ", fewer, " or layers = ", layers);
}

// A stage with the head alone is intended; our trainer does not support one without anything.
void check_costs(const MegatronSetup& setup, ProblemSink& problems) {
  if (!setup.model.lean) return;
  problems.reject("partition_rule",
                  "'costs' is the rule of nanotron, and engine = 'orch' does not have it",
                  "try partition_rule = 'balanced', or stage_layers");
}

void check_partition(const MegatronSetup& setup, ProblemSink& problems) {
  const auto& partition = setup.partition;
  const std::int64_t p = setup.pipeline, layers = partition.layers;
  if (!setup.stage_layers.empty()) return check_listed(setup, problems);
  if (setup.partition_rule == "costs") return check_costs(setup, problems);
  if (p > partition.items())
    return problems.reject("pipeline_parallel",
                           say(p, " stages for ", layers,
                               partition.count_embeddings ? " layers and 2 embeddings" : " layers",
                               ": some would have none"),
                           say("try pipeline_parallel = ", partition.items()));
  if (partition.count_embeddings && partition.items_on(p - 1) == 0)
    return problems.reject(
        "stage_partition",
        say(layers, " layers and 2 embeddings distributed ", partition.portion(),
            " at a time are used", " up before stage ", p - 1, ", which holds the LM head"),
        say("try pipeline_parallel = ", divisor_below(layers + 2, p),
            " or layers = ", round_up(layers + 2, p) - 2));
  if (partition.items_on(p - 1) == 0)
    return problems.reject("pipeline_parallel",
                           say(layers, " layers distributed ", partition.portion(),
                               " at a time to ", p, " stages: the last ones would have none"),
                           say("try pipeline_parallel = ", divisor_below(layers, p),
                               " or layers = ", round_up(layers, p)));
  if (partition.loss() <= 0 || !setup.uneven.empty())
    return;  // check_interleave reports uneven chunks
  const bool other_fits = !partition.count_embeddings && (layers + 2) % p == 0;
  problems.warn(
      "pipeline_parallel",
      say(partition.items(), partition.count_embeddings ? " layers and embeddings" : " layers",
          " on ", p, " stages: ", partition.portion(), " on the largest, ",
          partition.items_on(p - 1), " on the last; ", PrintedPercent{partition.loss()},
          " of the time is lost"),
      other_fits ? "try stage_partition = 'transformer|embedding'" : even_stages(partition, p));
}

// What other programs train.
void check_planned(const BackendRun& run, const MegatronSetup& setup, ProblemSink& problems) {
  if (setup.engine.core) return;
  const auto reject = [&](const char* field, const char* fix) {
    problems.reject(field, "is a setting of Megatron-LM, which orch plans and does not train", fix);
  };
  if (setup.cuda_graphs != "none")
    reject("cuda_graphs", "try cuda_graphs = 'none' or engine = 'megatron'");
  if (setup.mtp_layers > 0) reject("mtp_layers", "try mtp_layers = 0 or engine = 'megatron'");
  if (settings.dropout_masks(run) != "usual")
    reject("dropout_masks", "try dropout_masks = 'usual' or engine = 'megatron'");
}

void check_vocabulary(const BackendRun& run, const MegatronSetup& setup, ProblemSink& problems) {
  const auto part = static_cast<std::int64_t>(setup.model.padded_vocab) / setup.tensor;
  if (part % 64 == 0) return;
  problems.warn("vocab_multiple",
                say("each rank's part of the vocabulary, ", run.model().vocab, " / ", setup.tensor,
                    " padded to ", part, ", is not a multiple of 64: the logits run off the tiles"),
                "try vocab_multiple = 128");
}

bool problem_with_cuts(const MegatronSetup& setup) {
  return setup.tensor % setup.expert_tensor != 0;
}

void check_expert_tensor(const BackendRun& run, const MegatronSetup& setup, ProblemSink& problems) {
  const auto& model = run.model();
  const std::int64_t cuts = setup.expert_tensor;
  if (!setup.model.folded()) return;
  if (!model.mixture())
    return problems.reject("expert_tensor_parallel",
                           say("a ", run->family, " has no experts to cut"),
                           "try expert_tensor_parallel = 0");
  if (problem_with_cuts(setup))
    return problems.reject("expert_tensor_parallel",
                           say(cuts, " does not divide tensor_parallel = ", setup.tensor),
                           say("try expert_tensor_parallel = ", divisor_below(setup.tensor, cuts)));
  if (setup.model.lean)
    problems.reject("expert_tensor_parallel", "engine = 'orch' cuts experts as it cuts layers",
                    "try engine = 'megatron' or expert_tensor_parallel = 0");
  if (!setup.asks_sequence_parallel)
    problems.reject("expert_tensor_parallel",
                    say("without sequence_parallel all ", setup.tensor,
                        " tensor-parallel ranks would send the same rows to the experts"),
                    "try sequence_parallel = true or expert_tensor_parallel = 0");
  if (model.expert_hidden % cuts != 0)
    problems.reject("expert_tensor_parallel",
                    say("expert_hidden = ", model.expert_hidden, " is not divisible by ", cuts),
                    "try expert_tensor_parallel = 1");
  const std::int64_t shared = model.shared_experts * model.expert_hidden;
  if (shared % setup.tensor != 0)
    problems.reject("tensor_parallel",
                    say("shared_experts * expert_hidden = ", shared,
                        " is not divisible by tensor_parallel = ", setup.tensor),
                    say("try tensor_parallel = ", divisor_below(shared, setup.tensor)));
}

void check_experts(const BackendRun& run, const MegatronSetup& setup, ProblemSink& problems) {
  const std::int64_t e = setup.experts, experts = run.model().experts;
  if (e == 1 && (setup.model.overlap_experts || setup.model.expert_nodes > 0))
    problems.warn(setup.model.overlap_experts ? "overlap_experts" : "expert_dispatch",
                  "every rank has all experts: no token is sent",
                  "leave it out, or try an expert_parallel of 2 or more");
  if (e == 1) return;
  if (experts == 0)
    return problems.reject("expert_parallel",
                           say("a ", run->family, " has no experts to distribute"),
                           "try expert_parallel = 1");
  if (experts % e != 0)
    problems.reject("expert_parallel",
                    say(experts, " experts cannot be distributed to ", e, " ranks"),
                    say("try expert_parallel = ", divisor_below(experts, e)));
  const std::int64_t ranks = setup.tensor * setup.data / setup.expert_tensor;
  if (ranks % e == 0 || problem_with_cuts(setup)) return;
  const auto whole = setup.tensor * setup.data;  // e must be a divisor if experts are not cut
  const bool unfolded = !setup.model.folded();
  problems.reject("expert_parallel",
                  unfolded
                      ? say(ranks, " ranks have the same weights, and ", e, " do not divide them")
                      : say("each stage has ", whole, " ranks, ", setup.expert_tensor,
                            " for each expert: ", e, " do not divide ", ranks),
                  say("try expert_parallel = ", divisor_below(ranks, e),
                      unfolded && setup.tensor > 1 && whole % e == 0 && !setup.model.lean
                          ? ", or expert_tensor_parallel = 1"
                          : ""));
}

}  // namespace

void check_setup(const BackendRun& run, const MegatronSetup& setup, ProblemSink& problems) {
  check_tensor(run, problems, setup.model.folded());
  if (problems.enough()) return;
  check_attention(run, setup.model, problems);
  check_sequence(run, setup, problems);
  check_overlap(run, setup, problems);
  check_gathered(run, setup, problems);
  check_expert_tensor(run, setup, problems);
  check_experts(run, setup, problems);
  if (problems.enough()) return;
  check_context(run, problems);
  check_partition(setup, problems);
  if (problems.enough()) return;
  check_interleave(run, setup, problems);
  if (problems.enough()) return;
  check_filling(setup, problems);
  check_bubble(run, setup.chunks, problems);
  check_vocabulary(run, setup, problems);
  check_planned(run, setup, problems);
  check_kept(run, setup, problems);
}

}  // namespace orch::megatron
