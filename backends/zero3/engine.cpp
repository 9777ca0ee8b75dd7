// One engine for zero3, deepspeed and fsdp. The parameters are cut into units (units.h), and each
// rank owns an equal part of each unit of which it stores the optimizer's states. Two strategies,
// chosen by the stage, move the rest: weights_ makes a layer's weights complete before they are
// used (GatheredWeights for stage 3, RefreshedWeights after each update, or nothing), gradients_
// reduces them to the owned part (GradientRing during each backward, or WholeGradients once per
// step). The model calls both through its hooks, before and after each layer in both directions.
//
// A step is: forward and backward of all micro-batches, the last reductions, a sum between mirror
// groups in hybrid sharding, one agreement of all ranks on loss, norm and stop, and the update of
// the owned part. Parts in host memory are updated by another thread, and a layer's hook waits for
// it, so that the update overlaps the next forward.
#include "backends/zero3/engine.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "backends/runtime/host/failure.h"
#include "backends/runtime/step/batches.h"
#include "backends/runtime/step/run_options.h"
#include "backends/runtime/step/settings.h"
#include "backends/zero3/gradient_ring.h"
#include "backends/zero3/refreshed_weights.h"
#include "backends/zero3/weights.h"
#include "backends/zero3/whole_gradients.h"
#include "core/price/backend/states.h"

namespace orch::zero3 {
namespace {

using namespace train;

static_assert(backend::kStaged == Staging::kMost, "what is estimated is what is taken");

Mode checked_mode(const plan::Run& run, std::int64_t replicas) {
  const auto near = run.partition->gpus_per_node / run.layout.tensor_parallel;
  const auto mode = mode_of(run, run.strategy->name, replicas, near);
  if (run.layout.pipeline_parallel > 1)
    throw ClassifiedFailure("bad_exit", "fsdp has no pipeline here: use megatron");
  if (mode.fsdp && mode.offload != Offload::none)
    throw ClassifiedFailure("bad_exit",
                            "fsdp has no offload here: use zero3 with offload = 'full'");
  if (replicas % mode.shard_ranks != 0)
    throw ClassifiedFailure("bad_exit",
                            fmt::format("{} ranks do not make groups of {}: use another "
                                        "hybrid_shard_group",
                                        replicas, mode.shard_ranks));
  return mode;
}

std::string name_of(const Mode& mode) {  // of the sharded states
  if (mode.shard_ranks == 1) return "nothing";
  if (mode.stage == 1) return "optimizer states";
  return mode.stage == 2 ? "gradients and optimizer states"
                         : "weights, gradients and optimizer states";
}

// Aligned so that every unit can be divided equally, at multiples of 16 bytes.
ParameterLayout layout_of(const plan::Run& run, const Mesh& mesh, const Mode& mode) {
  const auto tensor = run.layout.tensor_parallel;
  const auto& model = run.model;
  const auto specs =
      parameter_specs(model, LayerSpan::whole(model), padded_vocab(model, 128 * tensor));
  return lay_out(specs, {mesh.tensor_rank(), mesh.tensor_size()},
                 backend::alignment(mode.shard_ranks));
}

// The type in which gradients are sent: that of the products, as DeepSpeed and FSDP do, or fp32.
at::ScalarType sent_type(const plan::Run& run) {
  return settings.reduce_dtype.or_default(run) == "fp32" ? at::kFloat : dtype_of(run);
}

}  // namespace

// Every rank creates the same groups in the same order, and connects at once.
Zero3Engine::Groups Zero3Engine::make_groups(Mesh& mesh, const Mode& mode) {
  Groups groups;
  if (mode.shard_ranks == 1 && mesh.data_size() == 1) return groups;
  auto& world = mesh.world();
  const auto tensor = mesh.tensor_size(), data = mesh.data_size();
  const auto size = static_cast<int>(mode.shard_ranks);
  const auto make = [&](const char* name, CommGroup*& mine, int t, int first, int count,
                        int stride) {
    std::vector<int> ranks;
    for (int i = 0; i < count; ++i) ranks.push_back(t + tensor * (first + stride * i));
    if (auto* made = world.make_group(name, ranks)) {
      mine = made;
      made->all_reduce(at::zeros({1}, at::TensorOptions().device(world.device()))).wait();
    }
  };
  for (int t = 0; t < tensor; ++t) {
    for (int first = 0; first < data && size > 1; first += size) {
      make("gather", groups.gather, t, first, size, 1);
      make("scatter", groups.scatter, t, first, size, 1);
    }
    for (int place = 0; place < size && size < data; ++place)
      make("replicas", groups.replicas, t, place, data / size, size);
  }
  return groups;
}

Zero3Engine::Zero3Engine(const plan::Run& config, World& world, Profile& profile)
    : config_(config),
      profile_(profile),
      mesh_(world, config.layout),
      mode_(checked_mode(config, mesh_.data_size())),
      groups_(make_groups(mesh_, mode_)),
      units_(units_of(layout_of(config, mesh_, mode_), config.model.layers)),
      parameters_(layout_of(config, mesh_, mode_), parameter_options()),
      replicas_(mesh_, parameters_, false, groups_.scatter, profile),
      model_(model_options(), parameters_, &profile),
      update_(config, parameters_, optimizer_options()) {
  set_precision(config);
  auto& optimizer = update_.optimizer();
  const auto layers = config.model.layers;
  if (mode_.moves_weights())
    weights_ = std::make_unique<GatheredWeights>(
        groups_.gather, parameters_, optimizer, units_,
        SlotOptions{dtype_of(config), layers, mode_.prefetch, mode_.keeps_all, mode_.fsdp},
        profile);
  else if (is_sharded())
    weights_ = std::make_unique<RefreshedWeights>(*groups_.gather, parameters_, optimizer, units_,
                                                  layers, profile);
  else
    weights_ = std::make_unique<Sharding>();
  if (mode_.moves_gradients())
    gradients_ = std::make_unique<GradientRing>(
        groups_.scatter, parameters_, units_,
        RingOptions{layers, sent_type(config), mode_.overlap,
                    settings.tied_scatter.or_default(config) == "twice"},
        profile);
  else
    gradients_ = std::make_unique<WholeGradients>(groups_.scatter, parameters_, optimizer, units_,
                                                  layers, mode_.overlap, profile);
  replicas_.known_squares = [this](std::size_t unit) { return gradients_->squares_of(unit); };
  parameters_.initialize(config.training.seed, config.training.init_std, config.model.layers);
}

ParameterOptions Zero3Engine::parameter_options() const {
  auto& world = mesh_.world();
  const auto rank = is_sharded() ? groups_.gather->rank() : 0;
  ParameterOptions options;
  // FSDP's parameters are fp32, and it gathers a 16-bit copy.
  options.dtype = mode_.fsdp && is_sharded() ? at::kFloat : dtype_of(config_);
  options.device = world.device();
  options.owned = shard_of(units_, rank, mode_.shard_ranks);
  options.on_host = static_cast<std::size_t>(mode_.units_on_host(config_.model.layers));
  options.away = mode_.is_full();
  options.whole_weights = !mode_.moves_weights();
  options.whole_gradients = !mode_.moves_gradients();
  require_host_memory(options, config_, world);
  return options;
}

OptimizerOptions Zero3Engine::optimizer_options() const {
  auto options = replicas_.sums();
  options.deferred = mode_.overlap;
  return options;
}

ModelOptions Zero3Engine::model_options() {
  auto options = train::model_options(config_, mesh_.world().device(),
                                      TensorAxis(mesh_.tensor(), false, &profile_));
  options.inputs_on_host = settings.offload_activations(config_);
  // Each layer waits for its own weights.
  options.hooks.before = [this](std::int64_t layer, Direction way) {
    weights_->before(layer, way);
    train::finish(update_.optimizer(), unit_of(layer, config_.model.layers), profile_);
    gradients_->before(layer, way);
  };
  options.hooks.after = [this](std::int64_t layer, Direction way) {
    weights_->after(layer, way);
    gradients_->after(layer, way);
  };
  return options;
}

at::Tensor Zero3Engine::forward_backward(const StepBatch& batch, const data::Dataset& dataset) {
  const auto count = micro_batches_of(batch.global_batch, config_, mesh_);
  auto loss = at::zeros({}, at::TensorOptions().dtype(at::kFloat).device(mesh_.world().device()));
  gradients_->begin();
  for (std::int64_t micro = 0; micro < count; ++micro) {
    gradients_->begin_backward(batch.step, micro + 1 == count);
    loss.add_(model_.train(read_batch(dataset, config_, mesh_, batch.first, micro, batch.step),
                           update_.loss_scale() / static_cast<double>(count),
                           [&](std::size_t parameter) { gradients_->ready(parameter); }),
              1.0 / static_cast<double>(count * mesh_.data_size()));
  }
  return loss;
}

// Reduces between mirror groups once per step, after all micro-batches.
void Zero3Engine::reduce() {
  gradients_->finish();
  if (!groups_.replicas) return;
  Profile::Scope scope(&profile_, "gradient all-reduce between replicas");
  groups_.replicas->all_reduce(parameters_.gradients()).wait();
  parameters_.gradients().div_(groups_.replicas->size());
}

StepResult Zero3Engine::step(const StepBatch& batch, const data::Dataset& dataset) {
  const auto loss = forward_backward(batch, dataset);
  reduce();
  replicas_.add_up_gradients();
  const auto agreed = replicas_.agree(loss, batch.stop);
  weights_->finish();
  update_.optimizer().finish();
  StepResult result;
  {
    Profile::Scope scope(&profile_, "optimizer");
    result = update_.apply(batch, agreed);
  }
  if (!result.skipped) weights_->updated(mode_.overlap);
  return result;
}

double Zero3Engine::evaluate(const data::Dataset& dataset, std::int64_t first, std::int64_t count) {
  // Rounded down: in a phase of a ramp-up the number of replicas may not be a divisor.
  const auto rounds = count / (mesh_.data_size() * config_.batch.micro_batch);
  auto loss = at::zeros({}, at::TensorOptions().dtype(at::kFloat).device(mesh_.world().device()));
  for (std::int64_t round = 0; round < rounds; ++round)
    loss.add_(model_.evaluate(read_batch(dataset, config_, mesh_, first, round, 0)),
              1.0 / static_cast<double>(rounds * mesh_.data_size()));
  return replicas_.total(loss);
}

checkpoint::SavedState Zero3Engine::save(checkpoint::CheckpointFacts& facts) {
  return replicas_.save(update_.save(facts));
}

void Zero3Engine::load(const checkpoint::CheckpointReader& from, LoadScope what) {
  update_.load(from, what);
  weights_->updated(false);
}

// The number of gathers that this rank has started depends on the progress of its host.
void Zero3Engine::finish() { weights_->finish(); }

std::map<std::string, std::string> Zero3Engine::effective() const {
  const auto dtype = settings.dtype(config_), sent = settings.reduce_dtype.or_default(config_);
  const auto on_host = static_cast<std::size_t>(mode_.units_on_host(config_.model.layers));
  const bool mirrored = mode_.shard_ranks < mesh_.data_size();
  std::map<std::string, std::string> all{
      {"attention", model_.uses_sdpa() ? "fused" : "math"},
      {"between_replicas", mirrored ? "sums of gradients, once a step, in fp32" : "nothing"},
      {"data_parallel", std::to_string(mesh_.data_size())},
      {"dtype", dtype},
      {"gradients_sent_as", sent == "fp32" ? sent : dtype},
      {"kernels", mesh_.world().device().is_cuda() ? "fused" : "plain"},
      {"inputs_of_layers", settings.offload_activations(config_) ? "on the host" : "on the device"},
      {"offload", mode_.fsdp ? "none" : settings.offload(config_)},
      {"offloaded_units", fmt::format("{} of {}", std::min(on_host, units_.size()), units_.size())},
      {"optimizer", settings.optimizer(config_)},
      {"prefetch", "none"},
      {"recompute", settings.recompute(config_)},
      {"sharded", name_of(mode_)},
      {"sharded_over", std::to_string(mode_.shard_ranks)},
      {"stage", std::to_string(mode_.stage)},
      {"tensor_parallel", std::to_string(mesh_.tensor_size())},
      {"tied_words_reduced", settings.tied_scatter.or_default(config_)},
      {"weights", "whole in " + dtype}};
  weights_->describe(all);
  gradients_->describe(all);
  return all;
}

std::map<std::string, double> Zero3Engine::memory_items() const {
  auto items = update_.memory_items();
  items["activations"] = static_cast<double>(model_.activation_bytes());
  items["logits"] = static_cast<double>(model_.logits_bytes());
  weights_->count(items);
  gradients_->count(items);
  if (model_.host_bytes() > 0) items["activations on the host"] = model_.host_bytes();
  return items;
}

}  // namespace orch::zero3
