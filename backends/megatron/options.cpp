#include "backends/megatron/options.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdlib>
#include <numeric>

#include "backends/megatron/partition.h"
#include "backends/megatron/stages.h"
#include "backends/runtime/host/failure.h"
#include "backends/runtime/step/run_options.h"
#include "backends/runtime/step/settings.h"
#include "backends/runtime/step/staging.h"
#include "core/price/backend/states.h"

namespace orch::megatron {
namespace {

using namespace train;

static_assert(backend::kStaged == Staging::kMost, "what is estimated is what is taken");

constexpr double kBucketBytes = 40e6 * 4;  // Megatron's 40 million elements

// Runs of before there was this setting do not have it.
bool fills_bubbles(const plan::Run& run) {
  return Settings(run).flag_or("fill_bubbles", false) && run.layout.pipeline_parallel > 1;
}

}  // namespace

const plan::Run& checked(const plan::Run& run) {
  const Settings settings(run);
  const auto ranks = run.layout.tensor_parallel, stages = run.layout.pipeline_parallel;
  const auto chunks = settings.integer("interleave");
  const auto rows = run.batch.micro_batch * run.model.seq;
  std::vector<std::string> problems;
  if (run.model.heads % ranks != 0)
    problems.push_back(fmt::format("{} heads cannot be shared by tensor_parallel = {} ranks",
                                   run.model.heads, ranks));
  if (settings.flag("sequence_parallel") && rows % ranks != 0)
    problems.push_back(fmt::format(
        "micro_batch * seq = {} rows cannot be shared by tensor_parallel = {} ranks", rows, ranks));
  if (chunks > 1 && (stages == 1 || run.model.layers % (stages * chunks) != 0))
    problems.push_back(
        fmt::format("{} layers cannot be shared by {} stages of {} chunks: use interleave = 1",
                    run.model.layers, stages, chunks));
  const auto listed = parse_layers(run.text_setting("stage_layers"));
  if (const auto text = run.text_setting("stage_layers");
      !text.empty() && (static_cast<std::int64_t>(listed.size()) != stages || chunks > 1 ||
                        std::reduce(listed.begin(), listed.end()) != run.model.layers))
    problems.push_back(fmt::format("stage_layers = '{}' does not deal {} layers to {} stages", text,
                                   run.model.layers, stages));
  if (chunks > 1 && fills_bubbles(run))
    problems.push_back("fill_bubbles does not go with interleave");
  if (!problems.empty()) throw Failed("bad_exit", fmt::format("{}", fmt::join(problems, "; ")));
  return run;
}

// So that every bucket can be shared equally by the replicas, at multiples of 16 bytes.
ParameterLayout layout_of(const plan::Run& run, const Mesh& mesh) {
  const Slice slice{mesh.tensor_rank(), mesh.tensor_size()};
  return lay_out(specs_of(run, mesh.stage()), slice,
                 std::lcm<std::int64_t>(kAlign, 8 * mesh.data_size()));
}

std::string schedule_name(const plan::Run& run) {
  if (run.layout.pipeline_parallel == 1) return "none";
  if (fills_bubbles(run)) return "filled 1F1B";
  return Settings(run).integer("interleave") > 1 ? "interleaved" : "1F1B";
}

ParameterOptions parameter_options(const plan::Run& run, World& world, std::vector<Range> owned) {
  const Settings settings(run);
  ParameterOptions options;
  options.dtype = dtype_of(run);
  options.device = world.device();
  options.owned = std::move(owned);
  options.on_host = settings.text("offload") == "optimizer" ? kAllOfThem : 0;
  options.wide_gradients = settings.flag("fp32_accumulate");
  require_host_memory(options, run, world);
  return options;
}

PipelineOptions pipeline_options(const plan::Run& run, Mesh& mesh, Profile& profile,
                                 LayerHooks hooks) {
  const TensorAxis axis(mesh.tensor(), Settings(run).flag("sequence_parallel"), &profile);
  const char* slow = std::getenv("ORCH_TEST_SLOW_MS");
  auto model = model_options(run, mesh.world().device(), axis);
  model.hooks = std::move(hooks);
  return {std::move(model), run.batch.micro_batch, fills_bubbles(run), slow ? std::atof(slow) : 0};
}

// The words' are sent apart: both ends of the pipeline then cut them alike.
BucketOptions bucket_options() { return {kBucketBytes, kBucketBytes / 8, kWords}; }

ReducerOptions reducer_options(const plan::Run& run, bool sharded) {
  ReducerOptions options;
  options.overlap = Settings(run).flag("overlap_grad_reduce");
  options.scatter = sharded;
  return options;
}

}  // namespace orch::megatron
