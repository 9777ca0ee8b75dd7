#include "backends/megatron/engine.h"

#include <ATen/ATen.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdlib>
#include <numeric>

#include "backends/megatron/engines.h"
#include "backends/megatron/settings.h"
#include "backends/megatron/stages.h"
#include "backends/runtime/host/failure.h"
#include "backends/runtime/step/batches.h"
#include "backends/runtime/step/run_options.h"
#include "backends/runtime/step/settings.h"
#include "backends/runtime/step/staging.h"
#include "core/price/backend/states.h"
#include "core/train/pipeline/partition.h"

namespace orch::megatron {
namespace {

using namespace train;

static_assert(backend::kStaged == Staging::kMost, "what is estimated is what is taken");

// Runs older than this setting do not have it.
bool fills_bubbles(const plan::Run& run) {
  return settings.fill_bubbles.or_default(run) && run.layout.pipeline_parallel > 1;
}

// Returns the run itself. Throws ClassifiedFailure("bad_exit") with everything that this trainer
// does not support: orch checks most of that before, but run.json may have been written by hand.
const plan::Run& checked(const plan::Run& run) {
  const auto ranks = run.layout.tensor_parallel, stages = run.layout.pipeline_parallel;
  const auto chunks = settings.interleave(run);
  const auto rows = run.batch.micro_batch * run.model.seq;
  std::vector<std::string> problems;
  if (run.model.heads % ranks != 0)
    problems.push_back(fmt::format("{} heads cannot be shared by tensor_parallel = {} ranks",
                                   run.model.heads, ranks));
  if (settings.sequence_parallel(run) && rows % ranks != 0)
    problems.push_back(fmt::format(
        "micro_batch * seq = {} rows cannot be shared by tensor_parallel = {} ranks", rows, ranks));
  if (chunks > 1 && (stages == 1 || run.model.layers % (stages * chunks) != 0))
    problems.push_back(
        fmt::format("{} layers cannot be shared by {} stages of {} chunks: use interleave = 1",
                    run.model.layers, stages, chunks));
  const auto listed = pipeline::parse_layers(settings.stage_layers.or_default(run));
  if (const auto text = settings.stage_layers.or_default(run);
      !text.empty() && (static_cast<std::int64_t>(listed.size()) != stages || chunks > 1 ||
                        std::reduce(listed.begin(), listed.end()) != run.model.layers))
    problems.push_back(fmt::format("stage_layers = '{}' does not distribute {} layers to {} stages",
                                   text, run.model.layers, stages));
  if (const auto stage = settings.zero_stage(run); stage > 1)
    problems.push_back(fmt::format("zero_stage = {} is planned, not trained here: use 1", stage));
  if (settings.offload_activations.or_default(run))
    problems.push_back("offload_activations is planned, not trained here");
  if (chunks > 1 && fills_bubbles(run))
    problems.push_back("fill_bubbles does not go with interleave");
  if (!problems.empty())
    throw ClassifiedFailure("bad_exit", fmt::format("{}", fmt::join(problems, "; ")));
  return run;
}

// Aligned so that every bucket can be divided equally among the replicas, at multiples of 16 bytes.
ParameterLayout layout_of(const plan::Run& run, const Mesh& mesh) {
  const ParameterSlice slice{mesh.tensor_rank(), mesh.tensor_size()};
  return lay_out(specs_of(run, mesh.stage()), slice, backend::alignment(mesh.data_size()));
}

std::string schedule_name(const plan::Run& run) {
  if (run.layout.pipeline_parallel == 1) return "none";
  if (fills_bubbles(run)) return "filled 1F1B";
  return settings.interleave(run) > 1 ? "interleaved" : "1F1B";
}

ParameterOptions parameter_options(const plan::Run& run, World& world,
                                   std::vector<ElementRange> owned) {
  ParameterOptions options;
  options.dtype = dtype_of(run);
  options.device = world.device();
  options.owned = std::move(owned);
  options.on_host = settings.offload(run) == "optimizer" ? kAllOfThem : 0;
  options.wide_gradients = settings.fp32_accumulate(run);
  require_host_memory(options, run, world);
  return options;
}

PipelineOptions pipeline_options(const plan::Run& run, Mesh& mesh, Profile& profile,
                                 LayerHooks hooks) {
  const TensorAxis axis(mesh.tensor(), settings.sequence_parallel(run), &profile);
  const char* slow = std::getenv("ORCH_TEST_SLOW_MS");
  auto model = model_options(run, mesh.world().device(), axis);
  model.hooks = std::move(hooks);
  return {std::move(model), run.batch.micro_batch, fills_bubbles(run), slow ? std::atof(slow) : 0};
}

// The word embedding's bucket is separate: both ends of the pipeline then cut it alike.
constexpr double kBucketBytes = kEngines[0].bucket * 4;
const BucketOptions kBuckets{kBucketBytes, kBucketBytes / 8, kWords};

ReducerOptions reducer_options(const plan::Run& run, bool sharded) {
  ReducerOptions options;
  options.overlap = settings.overlap_grad_reduce(run);
  options.scatter = sharded;
  return options;
}

std::string dtype_name(const at::Tensor& tensor) {
  return tensor.scalar_type() == at::kFloat  ? "fp32"
         : tensor.scalar_type() == at::kHalf ? "fp16"
                                             : "bf16";
}

}  // namespace

MegatronEngine::MegatronEngine(const plan::Run& config, World& world, Profile& profile)
    : config_(checked(config)),
      profile_(profile),
      mesh_(world, config.layout, settings.interleave(config) > 1),
      sharded_(settings.zero_stage(config) == 1 && mesh_.data_size() > 1),
      buckets_(buckets_of(layout_of(config, mesh_), 4, kBuckets)),
      parameters_(
          layout_of(config, mesh_),
          parameter_options(
              config, world,
              sharded_ ? shard_of(buckets_, mesh_.data_rank(), mesh_.data_size())
                       : std::vector<ElementRange>{{0, layout_of(config, mesh_).elements}})),
      replicas_(mesh_, parameters_, settings.sequence_parallel(config),
                sharded_ ? &mesh_.data() : nullptr, profile),
      update_(config, parameters_, replicas_.sums()),
      gather_(mesh_.data(), parameters_, update_.optimizer(), buckets_, config.model.layers,
              profile),
      pipeline_(mesh_,
                pipeline_options(
                    config, mesh_, profile,
                    {[this](std::int64_t layer, Direction) { gather_.wait_for(layer); }, {}}),
                spans_of(config, mesh_.stage()), parameters_, &profile),
      reducer_(parameters_, mesh_.data(), buckets_, reducer_options(config, sharded_)) {
  set_precision(config);
  parameters_.initialize(config.training.seed, config.training.init_std, config.model.layers);
}

// Every rank of a replica reads its samples itself: the same ones that ddp would assign to it.
Pipeline::Read MegatronEngine::reader(const data::Dataset& dataset, std::int64_t first,
                                      std::int64_t step) const {
  return [this, &dataset, first, step](std::int64_t micro, bool with_tokens) {
    return read_batch(dataset, config_, mesh_, first, micro, step, with_tokens);
  };
}

void MegatronEngine::gather_weights(bool overlapped) {
  if (!sharded_) return;
  gather_.start();
  if (!overlapped) gather_.wait();
}

StepResult MegatronEngine::step(const StepBatch& batch, const data::Dataset& dataset) {
  const auto count = micro_batches_of(batch.global_batch, config_, mesh_);
  parameters_.zero_gradients();
  reducer_.begin(batch.step, true);
  const auto loss = pipeline_.train(count, update_.loss_scale() / static_cast<double>(count),
                                    1.0 / static_cast<double>(count * mesh_.data_size()),
                                    reader(dataset, batch.first, batch.step),
                                    [&](std::size_t parameter) { reducer_.ready(parameter); });
  {
    Profile::Scope scope(&profile_, sharded_ ? "gradient reduce-scatter" : "gradient all-reduce");
    reducer_.finish();
  }
  replicas_.add_up_gradients();
  const auto agreed = replicas_.agree(loss, batch.stop);
  gather_.wait();
  StepResult result;
  {
    Profile::Scope scope(&profile_, "optimizer");
    result = update_.apply(batch, agreed);
  }
  if (!result.skipped) gather_weights(settings.overlap_param_gather.or_default(config_));
  return result;
}

double MegatronEngine::evaluate(const data::Dataset& dataset, std::int64_t first,
                                std::int64_t count) {
  // Rounded down: in a phase of a ramp-up the number of replicas may not be a divisor.
  gather_.wait();
  const auto rounds = count / (mesh_.data_size() * config_.batch.micro_batch);
  return replicas_.total(pipeline_.evaluate(
      rounds, 1.0 / static_cast<double>(rounds * mesh_.data_size()), reader(dataset, first, 0)));
}

checkpoint::SavedState MegatronEngine::save(checkpoint::CheckpointFacts& facts) {
  return replicas_.save(update_.save(facts));
}

void MegatronEngine::load(const checkpoint::CheckpointReader& from, LoadScope what) {
  update_.load(from, what);
  gather_weights(false);
}

// The number of gathers that this rank has started depends on the progress of its host.
void MegatronEngine::finish() { gather_.wait(); }

std::map<std::string, std::string> MegatronEngine::effective() const {
  const bool sequence = settings.sequence_parallel(config_) && mesh_.tensor_size() > 1;
  return {{"attention", pipeline_.uses_sdpa() ? "fused" : "math"},
          {"data_parallel", std::to_string(mesh_.data_size())},
          {"dtype", settings.dtype(config_)},
          {"engine", "orch"},
          {"gradients", dtype_name(parameters_.gradients())},
          {"interleave", std::to_string(settings.interleave(config_))},
          {"kernels", mesh_.world().device().is_cuda() ? "fused" : "plain"},
          {"offload", settings.offload(config_)},
          {"optimizer", settings.optimizer(config_)},
          {"pipeline_parallel", std::to_string(mesh_.stages())},
          {"recompute", settings.recompute(config_)},
          {"schedule", schedule_name(config_)},
          {"sequence_parallel", sequence ? "true" : "false"},
          {"tensor_parallel", std::to_string(mesh_.tensor_size())},
          {"zero_stage", sharded_ ? "1" : "0"}};
}

std::map<std::string, double> MegatronEngine::memory_items() const {
  auto items = update_.memory_items();
  items["activations"] = static_cast<double>(pipeline_.activation_bytes());
  items["logits"] = static_cast<double>(pipeline_.logits_bytes());
  items["communication buffers"] = reducer_.buffer_bytes();
  return items;
}

}  // namespace orch::megatron
