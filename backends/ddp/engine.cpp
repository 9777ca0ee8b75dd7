#include "backends/ddp/engine.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include "backends/ddp/settings.h"
#include "backends/runtime/step/batches.h"
#include "backends/runtime/step/run_options.h"
#include "backends/runtime/step/settings.h"

namespace orch::ddp {
namespace {

using namespace train;

CompressingOptions reducer_options(const plan::Run& config) {
  CompressingOptions options;
  options.buckets.bytes = settings.bucket_mb(config) * 1048576;
  options.overlap = settings.overlap(config);
  options.bucket_view = settings.gradient_as_bucket_view(config);
  options.compression = parse_compression(settings.compression(config));
  if (options.compression != Compression::powersgd) return options;
  options.powersgd.rank = settings.powersgd_rank(config);
  options.powersgd.start = settings.powersgd_start(config);
  options.powersgd.min_rate = settings.powersgd_min_compression_rate(config);
  options.powersgd.seed = static_cast<std::uint64_t>(config.training.seed);
  return options;
}

std::string error_name(int rank, const std::string& parameter) {
  return fmt::format("powersgd.error.{}/{}", rank, parameter);
}

}  // namespace

DdpEngine::DdpEngine(const plan::Run& config, World& world, Profile& profile)
    : config_(config),
      world_(world),
      profile_(profile),
      mesh_(world, config.layout),
      parameters_(parameter_specs(config.model),
                  {dtype_of(config), settings.master_weights(config), world.device()}),
      replicas_(mesh_, parameters_, false, nullptr, profile),
      model_(model_options(config, world.device()), parameters_, &profile),
      update_(config, parameters_),
      reducer_(parameters_, world.world(), reducer_options(config)) {
  set_precision(config);
  update_.on_rescale = [this](double ratio) { rescale_errors(ratio); };
  parameters_.initialize(config.training.seed, config.training.init_std, config.model.layers);
}

// Returns this rank's share of the mean loss.
at::Tensor DdpEngine::forward_backward(const StepBatch& batch, const data::Dataset& dataset) {
  const auto count = micro_batches_of(batch.global_batch, config_, mesh_);
  auto loss = at::zeros({}, at::TensorOptions().dtype(at::kFloat).device(world_.device()));
  parameters_.zero_gradients();
  for (std::int64_t micro = 0; micro < count; ++micro) {
    const auto samples = read_batch(dataset, config_, mesh_, batch.first, micro, batch.step);
    reducer_.begin(batch.step, micro + 1 == count);
    loss.add_(model_.train(samples, update_.loss_scale() / static_cast<double>(count),
                           [&](std::size_t parameter) { reducer_.ready(parameter); }),
              1.0 / static_cast<double>(count * world_.size()));
  }
  Profile::Scope scope(&profile_, "gradient all-reduce");
  reducer_.finish();
  return loss;
}

// PowerSGD's remaining errors are in units of the loss scale.
void DdpEngine::rescale_errors(double ratio) {
  for (const auto& state : reducer_.states())
    if (state.kind == "error") state.tensor.mul_(ratio);
}

StepResult DdpEngine::step(const StepBatch& batch, const data::Dataset& dataset) {
  const auto loss = forward_backward(batch, dataset);
  Profile::Scope scope(&profile_, "optimizer");
  return update_.apply(batch, replicas_.agree(loss, batch.stop));
}

double DdpEngine::evaluate(const data::Dataset& dataset, std::int64_t first, std::int64_t count) {
  // Rounded down: in a phase of a ramp-up the number of replicas may not be a divisor.
  const auto rounds = count / (world_.size() * config_.batch.micro_batch);
  auto loss = at::zeros({}, at::TensorOptions().dtype(at::kFloat).device(world_.device()));
  for (std::int64_t round = 0; round < rounds; ++round)
    loss.add_(model_.evaluate(read_batch(dataset, config_, mesh_, first, round, 0)),
              1.0 / static_cast<double>(rounds * world_.size()));
  return replicas_.total(loss);
}

checkpoint::SavedState DdpEngine::save(checkpoint::CheckpointFacts& facts) {
  auto saved = replicas_.save(update_.save(facts));
  for (const auto& state : reducer_.states()) {
    const auto& name = parameters_[state.parameter].spec.name;
    if (state.kind == "error")
      save_whole(whole_state(error_name(world_.rank(), name), state.tensor), saved);
    else if (world_.rank() == 0)
      save_whole(whole_state("powersgd." + state.kind + "/" + name, state.tensor), saved);
  }
  return saved;
}

void DdpEngine::load(const checkpoint::CheckpointReader& from, LoadScope what) {
  update_.load(from, what);
  if (what == LoadScope::all) load_powersgd(from);
}

// Each rank has its own error. On another number of ranks each gets the mean of all: the mean over
// ranks, which is still to be added to the weights, stays the same; in fp16 in units of this
// layout's scale.
void DdpEngine::load_powersgd(const checkpoint::CheckpointReader& from) {
  const auto before = from.facts().ranks;
  const bool same = before == world_.size();
  const bool by_layout =
      dtype_of(config_) == at::kHalf && from.facts().numbers.contains("loss_scale_overflowed");
  const double ratio = by_layout ? double{1} * before / world_.size() : 1;
  for (const auto& state : reducer_.states()) {
    const auto& name = parameters_[state.parameter].spec.name;
    if (state.kind != "error") {
      if (from.has("powersgd." + state.kind + "/" + name))
        load_state(from, {whole_state("powersgd." + state.kind + "/" + name, state.tensor)});
      continue;
    }
    if (!from.has(error_name(0, name))) continue;
    if (same) {
      load_state(from, {whole_state(error_name(world_.rank(), name), state.tensor)});
      continue;
    }
    auto sum = at::zeros_like(state.tensor);
    for (int rank = 0; rank < before; ++rank) {
      load_state(from, {whole_state(error_name(rank, name), state.tensor)});
      sum.add_(state.tensor);
    }
    state.tensor.copy_(sum.mul_(ratio / before));
  }
}

std::map<std::string, std::string> DdpEngine::effective() const {
  return {{"attention", model_.uses_sdpa() ? "fused" : "math"},
          {"compression", world_.size() > 1 ? settings.compression(config_) : "none"},
          {"dtype", settings.dtype(config_)},
          {"kernels", world_.device().is_cuda() ? "fused" : "plain"},
          {"master_weights", parameters_.has_masters() ? "fp32" : "none"},
          {"optimizer", settings.optimizer(config_)},
          {"recompute", settings.recompute(config_)},
          {"data_parallel", std::to_string(world_.size())}};
}

std::map<std::string, double> DdpEngine::memory_items() const {
  auto items = update_.memory_items();
  items["activations"] = static_cast<double>(model_.activation_bytes());
  items["logits"] = static_cast<double>(model_.logits_bytes());
  if (world_.size() == 1) return items;
  items["communication buffers"] = reducer_.buffer_bytes();
  if (const double error = reducer_.error_bytes(); error > 0)
    items["PowerSGD error feedback"] = error;
  return items;
}

}  // namespace orch::ddp
