#include "backends/megatron/engine.h"

#include <ATen/ATen.h>

#include "backends/megatron/options.h"
#include "backends/megatron/stages.h"
#include "backends/runtime/step/batches.h"
#include "backends/runtime/step/run_options.h"
#include "backends/runtime/step/settings.h"

namespace orch::megatron {
namespace {

using namespace train;

std::string dtype_name(const at::Tensor& tensor) {
  return tensor.scalar_type() == at::kFloat ? "fp32" : tensor.scalar_type() == at::kHalf ? "fp16" : "bf16";
}

}  // namespace

Engine::Engine(const plan::Run& config, World& world, Profile& profile)
    : config_(checked(config)),
      profile_(profile),
      mesh_(world, config.layout, Settings(config).integer("interleave") > 1),
      sharded_(Settings(config).integer("zero_stage") == 1 && mesh_.data_size() > 1),
      buckets_(buckets_of(layout_of(config, mesh_), 4, bucket_options())),
      parameters_(layout_of(config, mesh_),
                  parameter_options(config, world,
                                    sharded_ ? shard_of(buckets_, mesh_.data_rank(), mesh_.data_size())
                                             : std::vector<Range>{{0, layout_of(config, mesh_).elements}})),
      replicas_(mesh_, parameters_, Settings(config).flag("sequence_parallel"),
                sharded_ ? &mesh_.data() : nullptr, profile),
      update_(config, parameters_, replicas_.sums()),
      gather_(mesh_.data(), parameters_, update_.optimizer(), buckets_, config.model.layers, profile),
      pipeline_(mesh_,
                pipeline_options(config, mesh_, profile,
                                 {[this](std::int64_t layer, Way) { gather_.wait_for(layer); }, {}}),
                spans_of(config, mesh_.stage()), parameters_, &profile),
      reducer_(parameters_, mesh_.data(), buckets_, reducer_options(config, sharded_)) {
  set_precision(config);
  parameters_.initialize(config.training.seed, config.training.init_std, config.model.layers);
}

// Every rank of a replica reads its samples itself: those that ddp would give to it.
Pipeline::Read Engine::reader(const data::Dataset& dataset, std::int64_t first,
                              std::int64_t step) const {
  return [this, &dataset, first, step](std::int64_t micro, bool with_tokens) {
    const auto count = config_.batch.micro_batch;
    const auto at = first + (micro * mesh_.data_size() + mesh_.data_rank()) * count;
    if (with_tokens)
      return read_batch(dataset, config_.model, mesh_.world().device(), at, count, step);
    return MicroBatch{{}, {}, step, at, count * config_.model.seq};
  };
}

void Engine::gather_weights(bool overlapped) {
  if (!sharded_) return;
  gather_.start();
  if (!overlapped) gather_.wait();
}

StepResult Engine::step(const StepBatch& batch, const data::Dataset& dataset) {
  const auto count =
      micro_batches_of(batch.global_batch, mesh_.data_size(), config_.batch.micro_batch);
  parameters_.zero_gradients();
  reducer_.begin(batch.step, true);
  const auto loss = pipeline_.train(
      count, update_.loss_scale() / static_cast<double>(count),
      1.0 / static_cast<double>(count * mesh_.data_size()), reader(dataset, batch.first, batch.step),
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
  if (!result.skipped) gather_weights(Settings(config_).flag_or("overlap_param_gather", false));
  return result;
}

double Engine::evaluate(const data::Dataset& dataset, std::int64_t first, std::int64_t count) {
  // Rounded down: a phase of a ramp-up may have a number of replicas that does not divide it.
  gather_.wait();
  const auto rounds = count / (mesh_.data_size() * config_.batch.micro_batch);
  auto loss = pipeline_.evaluate(rounds, 1.0 / static_cast<double>(rounds * mesh_.data_size()),
                                 reader(dataset, first, 0));
  if (mesh_.tensor_rank() > 0) loss.zero_();
  mesh_.world().world().all_reduce(loss).wait();
  const auto mean = loss.item<double>();
  mesh_.world().check();
  return mean;
}

checkpoint::Saved Engine::save(checkpoint::Facts& facts) {
  return replicas_.save(update_.save(facts));
}

void Engine::load(const checkpoint::Reader& from, Load what) {
  update_.load(from, what);
  gather_weights(false);
}

std::map<std::string, std::string> Engine::effective() const {
  const Settings settings(config_);
  const bool sequence = settings.flag("sequence_parallel") && mesh_.tensor_size() > 1;
  return {{"attention", pipeline_.uses_sdpa() ? "fused" : "math"},
          {"data_parallel", std::to_string(mesh_.data_size())},
          {"dtype", settings.text("dtype")},
          {"engine", "orch"},
          {"gradients", dtype_name(parameters_.gradients())},
          {"interleave", std::to_string(settings.integer("interleave"))},
          {"kernels", mesh_.world().device().is_cuda() ? "fused" : "plain"},
          {"offload", settings.text("offload")},
          {"optimizer", settings.text("optimizer")},
          {"pipeline_parallel", std::to_string(mesh_.stages())},
          {"recompute", settings.text("recompute")},
          {"schedule", schedule_name(config_)},
          {"sequence_parallel", sequence ? "true" : "false"},
          {"tensor_parallel", std::to_string(mesh_.tensor_size())},
          {"zero_stage", sharded_ ? "1" : "0"}};
}

std::map<std::string, double> Engine::memory_items() const {
  auto items = update_.memory_items();
  items["activations"] = static_cast<double>(pipeline_.activation_bytes());
  items["logits"] = static_cast<double>(pipeline_.logits_bytes());
  items["communication buffers"] = reducer_.buffer_bytes();
  return items;
}

}  // namespace orch::megatron
