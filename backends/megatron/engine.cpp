#include "backends/megatron/engine.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <cmath>

#include "backends/megatron/options.h"
#include "backends/megatron/stages.h"
#include "backends/runtime/step/batches.h"
#include "backends/runtime/step/failure.h"
#include "backends/runtime/step/run_options.h"
#include "backends/runtime/step/settings.h"

namespace orch::megatron {
namespace {

using namespace train;

double bytes(const at::Tensor& tensor) { return static_cast<double>(tensor.nbytes()); }

}  // namespace

Engine::Engine(const plan::Run& config, World& world, Profile& profile)
    : config_(checked(config)),
      profile_(profile),
      mesh_(world, config.layout, Settings(config).integer("interleave") > 1),
      sharded_(Settings(config).integer("zero_stage") == 1 && mesh_.data_size() > 1),
      buckets_(buckets_of(layout_of(config, mesh_), 4, bucket_options())),
      parameters_(layout_of(config, mesh_),
                  {dtype_of(config), true, world.device(),
                   sharded_ ? shard_of(buckets_, mesh_.data_rank(), mesh_.data_size())
                            : std::vector<Range>()}),
      pipeline_(mesh_, pipeline_options(config, mesh_, profile), spans_of(config, mesh_.stage()),
                parameters_, &profile),
      update_(config, parameters_, dtype_of(config)),
      reducer_(parameters_, mesh_.data(), buckets_, reducer_options(config, sharded_)) {
  set_precision(config);
  parameters_.initialize(config.training.seed, config.training.init_std, config.model.layers);
}

std::int64_t Engine::micro_batches(std::int64_t global_batch) const {
  const auto at_once = mesh_.data_size() * config_.batch.micro_batch;
  if (global_batch % at_once != 0)
    throw Failed("bad_exit", fmt::format("a batch of {} cannot be shared by {} replicas with "
                                         "micro-batches of {}: start the ranks that were planned",
                                         global_batch, mesh_.data_size(), config_.batch.micro_batch));
  return global_batch / at_once;
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

bool Engine::is_replica(std::size_t parameter) const {
  const auto& spec = parameters_[parameter].spec;
  return (spec.split_dim < 0 && mesh_.tensor_rank() > 0) ||
         (spec.name == kWords && !mesh_.is_first());
}

// With sequence parallelism each rank has seen its own rows only, of what all of them have.
void Engine::add_shared_gradients() {
  if (mesh_.tensor_size() == 1 || !Settings(config_).flag("sequence_parallel")) return;
  Profile::Scope scope(&profile_, "shared gradient all-reduce");
  std::vector<at::Tensor> parts;
  for (const auto& owned : parameters_.owned())
    for (const auto& [parameter, begin, end, at] : owned.segments)
      if (parameters_[parameter].spec.split_dim < 0)
        parts.push_back(owned.gradient.narrow(0, at, end - begin));
  if (parts.empty()) return;
  const auto all = at::cat(parts);
  mesh_.tensor().all_reduce(all).wait();
  std::int64_t at = 0;
  for (auto& part : parts) {
    part.copy_(all.narrow(0, at, part.numel()));
    at += part.numel();
  }
}

// Who has done its part early would wait in the next collective, and call that communication.
void Engine::wait_for_stages() {
  if (mesh_.stages() == 1 || !profile_.is_measuring()) return;
  Profile::Scope scope(&profile_, "idle");
  mesh_.world().world().barrier();
}

// The first and the last stage both have the words, and cut them alike.
void Engine::add_tied_gradients() {
  if (!mesh_.ends() || !parameters_.has(kWords)) return;
  Profile::Scope scope(&profile_, "tied embedding all-reduce");
  const auto words = parameters_.index(kWords);
  for (const auto& owned : parameters_.owned())
    for (const auto& [parameter, begin, end, at] : owned.segments)
      if (parameter == words)
        mesh_.ends()->all_reduce(owned.gradient.narrow(0, at, end - begin)).wait();
}

// Of what no other rank counts.
at::Tensor Engine::squares() const {
  const auto like = at::TensorOptions().dtype(at::kDouble).device(mesh_.world().device());
  auto sum = at::zeros({}, like);
  if (!sharded_ && mesh_.data_rank() > 0) return sum;
  const auto count = [&](const Owned& owned, std::int64_t begin, std::int64_t end) {
    if (begin < end) sum.add_(sum_of_squares(owned.gradient.narrow(0, begin, end - begin)));
  };
  for (const auto& owned : parameters_.owned()) {
    std::int64_t begin = 0;  // what is counted and not added yet; padding between is zero
    for (const auto& [parameter, first, last, at] : owned.segments)
      if (is_replica(parameter)) {
        count(owned, begin, at);
        begin = at + last - first;
      }
    count(owned, begin, owned.range.end - owned.range.begin);
  }
  return sum;
}

// One reduction for all that the ranks must know before they decide: the same bits on each.
void Engine::agree(const StepBatch& batch, const at::Tensor& loss, StepResult& result,
                   double& norm) {
  const auto squared = squares();
  const double tells = mesh_.tensor_rank() == 0 ? 1 : 0;  // the loss is 0 where the head is not
  const auto shared = at::stack({squared, loss.to(at::kDouble).mul_(tells),
                                 at::full_like(squared, batch.stop ? 1.0 : 0.0)});
  mesh_.world().world().all_reduce(shared).wait();
  const auto host = shared.to(at::kCPU);
  mesh_.world().check();
  norm = std::sqrt(host[0].item<double>());
  result.loss = static_cast<float>(host[1].item<double>());
  result.stop = host[2].item<double>() > 0;
}

void Engine::gather_weights() {
  if (!sharded_) return;
  Profile::Scope scope(&profile_, "weight all-gather");
  std::vector<Pending> all;
  const auto& weights = parameters_.weights();
  for (std::size_t i = 0; i < buckets_.size(); ++i) {
    const auto& [begin, end] = buckets_[i].range;
    const auto& mine = parameters_.owned()[i].range;
    all.push_back(mesh_.data().all_gather(weights.narrow(0, begin, end - begin),
                                          weights.narrow(0, mine.begin, mine.end - mine.begin)));
  }
  for (auto& pending : all) pending.wait();
}

StepResult Engine::step(const StepBatch& batch, const data::Dataset& dataset) {
  const auto count = micro_batches(batch.global_batch);
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
  add_shared_gradients();
  wait_for_stages();
  add_tied_gradients();
  StepResult result;
  double norm = 0;
  agree(batch, loss, result, norm);
  if (!std::isfinite(result.loss) && update_.loss_scale() == 1)
    throw Failed("nan", fmt::format("the loss of step {} is {}", batch.step, result.loss));
  {
    Profile::Scope scope(&profile_, "optimizer");
    update_.apply(batch, norm, result);
  }
  if (!result.skipped) gather_weights();
  return result;
}

double Engine::evaluate(const data::Dataset& dataset, std::int64_t first, std::int64_t count) {
  // Rounded down: a phase of a ramp-up may have a number of replicas that does not divide it.
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
  auto state = training_state(parameters_, update_.optimizer(), config_.model.vocab);
  std::erase_if(state, [&](const StateTensor& each) { return is_replica(each.parameter); });
  checkpoint::Saved saved;
  if (sharded_)
    for (const auto& each : state) save_whole(each, saved);
  else
    save_share(state, mesh_.data_rank(), mesh_.data_size(), saved);
  update_.save(facts);
  return saved;
}

void Engine::load(const checkpoint::Reader& from) {
  load_state(from, training_state(parameters_, update_.optimizer(), config_.model.vocab));
  parameters_.copy_masters_to_weights();
  gather_weights();
  update_.load(from.facts());
}

void Engine::load_weights(const checkpoint::Reader& from) {
  load_state(from, weight_state(parameters_, config_.model.vocab));
  parameters_.copy_masters_to_weights();
  gather_weights();
}

std::map<std::string, std::string> Engine::effective() const {
  const Settings settings(config_);
  const bool sequence = settings.flag("sequence_parallel") && mesh_.tensor_size() > 1;
  return {{"attention", pipeline_.uses_sdpa() ? "fused" : "math"},
          {"data_parallel", std::to_string(mesh_.data_size())},
          {"dtype", settings.text("dtype")},
          {"engine", "orch"},
          {"gradients", "fp32"},
          {"interleave", std::to_string(settings.integer("interleave"))},
          {"kernels", mesh_.world().device().is_cuda() ? "fused" : "plain"},
          {"optimizer", settings.text("optimizer")},
          {"pipeline_parallel", std::to_string(mesh_.stages())},
          {"recompute", settings.text("recompute")},
          {"schedule", schedule_name(config_)},
          {"sequence_parallel", sequence ? "true" : "false"},
          {"tensor_parallel", std::to_string(mesh_.tensor_size())},
          {"zero_stage", sharded_ ? "1" : "0"}};
}

std::int64_t Engine::parameter_count() const {
  const auto& model = config_.model;
  const auto whole = lay_out(parameter_specs(model, Span::whole(model), model.vocab));
  std::int64_t count = 0;
  for (const auto& parameter : whole.all) count += parameter.count;
  return count;
}

std::map<std::string, double> Engine::memory_items() const {
  const double masters = parameters_.has_masters() ? bytes(parameters_.masters()) : 0;
  return {{"weights", bytes(parameters_.weights())},
          {"gradients", bytes(parameters_.gradients())},
          {"optimizer states", masters + static_cast<double>(update_.optimizer().state_bytes())},
          {"activations", static_cast<double>(pipeline_.activation_bytes())},
          {"logits", static_cast<double>(pipeline_.logits_bytes())},
          {"communication buffers", reducer_.buffer_bytes()}};
}

}  // namespace orch::megatron
