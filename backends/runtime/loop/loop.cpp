#include "backends/runtime/loop/loop.h"

#include <ATen/ATen.h>
#include <fmt/format.h>
#include <torch/version.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <optional>
#include <thread>
#include <utility>

#include "backends/runtime/host/failure.h"
#include "backends/runtime/host/gpu_energy.h"
#include "backends/runtime/loop/checkpointer.h"
#include "backends/runtime/loop/memory.h"
#include "backends/runtime/loop/resume.h"
#include "backends/runtime/loop/slow_ranks.h"
#include "backends/runtime/loop/tensorboard.h"
#include "backends/runtime/step/optimizer.h"
#include "backends/runtime/step/settings.h"
#include "core/plan/model_json.h"
#include "core/train/checkpoint/folders.h"
#include "core/train/data/dataset.h"

namespace orch::train {
namespace {

// On CUDA these steps of an attempt are profiled, with events: they come after the first
// allocations.
constexpr std::int64_t kFirstProfiled = 4, kLastProfiled = 6;
// And later one of so many, to see ranks that become slow.
constexpr std::int64_t kProfiledEvery = 20;

// What ranks tell each other at the start, as text that ends with zeros.
struct RankPlace {
  std::array<char, 64> host;
  std::array<char, 96> gpu;  // the id of its energy counter; empty: it has none
};

std::unique_ptr<data::Dataset> open_data(const plan::Run& config, data::Split which,
                                         std::int64_t samples) {
  data::DatasetOptions options;
  options.prefix = config.training.data;
  options.split = config.training.split;
  options.which = which;
  options.seq = config.model.seq;
  options.vocab = config.model.vocab;
  options.seed = config.training.seed;
  options.samples = samples;
  auto opened = data::open_dataset(options);
  if (!opened) throw ClassifiedFailure("data", text(opened.error()));
  return std::move(*opened);
}

class Loop {
 public:
  Loop(const plan::Run& config, const TrainingJob& job, World& world, Events& events,
       const MakeEngine& make);
  bool run();

 private:
  void resume();
  void open_datasets();
  void tell_start() const;
  bool phase_ends() const;
  bool step();
  struct Shared {
    double peak = 0, communicated = 0, idle = 0;  // idle: share of the step
    double joules = 0;                            // since the attempt began
    std::vector<double> busy = {};                // seconds of each rank's last measured step
  };
  Shared share();
  void share_places();
  void set_slow_ranks();
  double own_joules() const { return counts_energy_ ? energy_.joules() : 0; }
  double all_joules();
  void tell_slow_ranks(const std::vector<double>& busy);
  void tell_step(const StepBatch& batch, const StepResult& result, double seconds);
  void wait_for_device() const;
  void evaluate();
  void save();
  void wait_for_writers();
  void tell_checkpoints();
  void tell_profile();
  void finish();
  bool is_first() const { return world_.rank() == 0 || world_.is_alone(); }
  bool may_save() const { return config_.training.keep_checkpoints > 0; }
  bool due(std::int64_t every) const { return every > 0 && step_ % every == 0; }

  const plan::Run& config_;
  const TrainingJob& job_;
  World& world_;
  Events& events_;
  double context_bytes_;  // memory of the process before the model exists
  GpuEnergy energy_;
  Profile profile_;
  std::unique_ptr<Engine> engine_;
  std::unique_ptr<TensorBoard> board_;
  Checkpointer checkpointer_;
  std::unique_ptr<data::Dataset> train_data_, held_out_;
  std::int64_t steps_;                   // of the whole run
  std::int64_t step_ = 0;                // the last one done
  std::int64_t begun_at_ = 0;            // the step at which this attempt began
  std::int64_t saved_at_ = -1;           // the last step saved
  std::int64_t consumed_ = 0;            // samples
  std::int64_t skipped_ = 0;             // since the last log line
  std::uint64_t own_bytes_ = 0;          // passed to collectives outside of steps
  std::optional<double> idle_share_;     // of the last measured step
  std::optional<double> busy_;           // of the last step, if it was measured
  std::optional<SlowRanks> slow_ranks_;  // on rank 0, if there are others
  std::vector<std::string> hosts_;       // of all ranks, on rank 0
  bool has_energy_ = false;              // a rank has a counter
  bool counts_energy_ = false;           // this one is the first of its GPU's ranks
  double slowed_ = test_slowdown(world_.rank()), slowed_seconds_ = 0;  // for tests
  std::chrono::steady_clock::time_point last_end_ = {};  // of the last step, or of other work
  double measured_seconds_ = 0;                          // total of the profiled steps
  std::int64_t measured_steps_ = 0;
};

checkpoint::WriteOptions write_options(const plan::Run& config, const TrainingJob& job,
                                       const World& world) {
  checkpoint::WriteOptions options;
  options.rank = world.rank();
  options.attempt = job.attempt.filename().string();
  options.keep = config.training.keep_checkpoints;
  options.give_up = [&world] { return world.is_alarmed(); };
  return options;
}

Loop::Loop(const plan::Run& config, const TrainingJob& job, World& world, Events& events,
           const MakeEngine& make)
    : config_(config),
      job_(job),
      world_(world),
      events_(events),
      context_bytes_(static_cast<double>(current_memory_bytes(world.device()))),
      energy_(pci_address(world.device())),
      profile_(world.device().is_cuda()),
      engine_(make(config, world, profile_)),
      board_(is_first() && config.training.tensorboard ? std::make_unique<TensorBoard>(job.attempt)
                                                       : std::make_unique<TensorBoard>()),
      checkpointer_(job.checkpoints(), write_options(config, job, world)),
      steps_(config.total_steps()) {}

void Loop::resume() {
  const auto& init = config_.training.init;
  const auto newest = [folder = job_.checkpoints()] { return checkpoint::open_latest(folder); };
  // Starting from the beginning would repeat days of training, and finally remove the old
  // checkpoints.
  const auto otherwise =
      fmt::format("restore one, or move {} away to start from step 1", job_.checkpoints().string());
  if (const auto reader = find_checkpoint(world_, newest, otherwise)) {
    engine_->load(*reader, LoadScope::all);
    step_ = saved_at_ = reader->facts().step;
    consumed_ = reader->facts().consumed_samples;
  } else if (!init.empty()) {
    const auto first = find_checkpoint(
        world_, [init] { return checkpoint::open_at(init); }, "give another one in training.init");
    if (!first) throw ClassifiedFailure("data", init + ": no readable checkpoint to start from");
    engine_->load(*first, LoadScope::weights);
  }
  begun_at_ = step_;
}

void Loop::open_datasets() {
  const auto& training = config_.training;
  train_data_ = open_data(config_, data::Split::train, config_.batch.global_batch * steps_);
  if (training.evaluate_every > 0)
    held_out_ = open_data(config_, data::Split::valid,
                          training.evaluate_batches * config_.batch.global_batch);
}

void Loop::tell_start() const {
  if (!is_first()) return;
  const auto effective = engine_->effective();
  const auto& model = config_.model;
  // templates/logs/orch.lua reads this line.
  fmt::print(
      " orch run | strategy: {} | ranks: {} | device: {} | layers: {} | hidden: {} | heads: {} | "
      "seq: {} "
      "| vocab: {} | parameters: {:.0f} | micro_batch: {} | global_batch: {}",
      config_.strategy->name, world_.size(), device_name(world_.device()), model.layers,
      model.hidden, model.heads, model.seq, model.vocab, model.params(), config_.batch.micro_batch,
      config_.batch.global_batch);
  for (const auto& [name, value] : effective) fmt::print(" | {}: {}", name, value);
  fmt::print("\n");
  events_.write("start", {{"ranks", world_.size()},
                          {"device", device_name(world_.device())},
                          {"torch", TORCH_VERSION},
                          {"parameters", static_cast<std::int64_t>(config_.model.params())},
                          {"effective", effective}});
}

// True if the next job of a ramp-up continues, on more nodes.
bool Loop::phase_ends() const {
  return !job_.last_phase && config_.batch_at(consumed_) > job_.last_batch;
}

// The time is measured from the end of the previous step: device work that is still running when a
// step returns counts for the next one.
bool Loop::step() {
  const auto number = step_ + 1, of_attempt = number - begun_at_;
  const bool profiled = (of_attempt >= kFirstProfiled && of_attempt <= kLastProfiled) ||
                        of_attempt % kProfiledEvery == 0;
  world_.recorder().step(number);
  const StepBatch batch{number, consumed_, config_.batch_at(consumed_),
                        learning_rate_at(config_.training, steps_, number), stop_was_asked()};
  profile_.begin_step(profiled);
  const auto result = engine_->step(batch, *train_data_);
  if (slowed_ > 0) {
    const Profile::Scope scope(&profile_, "slowed");
    std::this_thread::sleep_for(std::chrono::duration<double>(slowed_seconds_));
  }
  profile_.end_step();
  busy_ = profile_.last_busy_seconds();
  if (slowed_ > 0 && busy_)
    slowed_seconds_ = slowed_ * (*busy_ - profile_.last_seconds("slowed").value_or(0));
  step_ = number;
  consumed_ += batch.global_batch;
  skipped_ += result.skipped ? 1 : 0;
  const auto began = std::exchange(last_end_, std::chrono::steady_clock::now());
  const double seconds = std::chrono::duration<double>(last_end_ - began).count();
  if (const auto idle = profile_.last_seconds("idle")) idle_share_ = *idle / seconds;
  if (world_.device().is_cuda() ? profiled && of_attempt > kFirstProfiled : of_attempt > 1) {
    measured_seconds_ += seconds;
    ++measured_steps_;
  }
  if (due(config_.training.log_every) || step_ == steps_) tell_step(batch, result, seconds);
  if (of_attempt == kLastProfiled) tell_profile();  // a run that never ends has a profile, too
  return result.stop;
}

// Maximum over ranks for memory and bytes, mean for idle time, sum for energy. Bytes outside of
// steps are not counted.
Loop::Shared Loop::share() {
  const auto before = world_.bytes();
  const std::array<double, 5> own{static_cast<double>(peak_memory_bytes(world_.device())),
                                  static_cast<double>(before - own_bytes_), idle_share_.value_or(0),
                                  busy_.value_or(0), own_joules()};
  if (world_.size() == 1) return {own[0], own[1], own[2], own[4]};  // avoids waiting for the device
  const auto like = at::TensorOptions().dtype(at::kDouble);
  const auto mine = at::tensor(at::ArrayRef<double>(own), like).to(world_.device());
  const auto all = at::empty({world_.size(), 5}, like.device(world_.device()));
  world_.world().all_gather(all.view({-1}), mine).wait();
  own_bytes_ += world_.bytes() - before;
  if (!is_first()) return {};
  const auto host = all.to(at::kCPU);
  const auto most = std::get<0>(host.max(0));
  const auto busy = host.select(1, 3).contiguous();
  return {most[0].item<double>(),
          most[1].item<double>(),
          host.select(1, 2).mean().item<double>(),
          host.select(1, 4).sum().item<double>(),
          {busy.data_ptr<double>(), busy.data_ptr<double>() + busy.numel()}};
}

// Of ranks that share a GPU, the first one counts its energy.
void Loop::share_places() {
  if (world_.is_alone()) return;
  has_energy_ = counts_energy_ = !energy_.id().empty();
  if (world_.size() == 1) return;
  const auto before = world_.bytes();
  RankPlace own{};
  gethostname(own.host.data(), own.host.size() - 1);
  energy_.id().copy(own.gpu.data(), own.gpu.size() - 1);
  const auto bytes = static_cast<std::int64_t>(sizeof own);
  const auto mine = at::from_blob(&own, {bytes}, at::kByte).to(world_.device());
  const auto all = at::empty({world_.size(), bytes}, mine.options());
  world_.world().all_gather(all.view({-1}), mine).wait();
  own_bytes_ += world_.bytes() - before;
  const auto host = all.to(at::kCPU);
  const auto* places = reinterpret_cast<const RankPlace*>(host.data_ptr<std::uint8_t>());
  for (int rank = 0; rank < world_.size(); ++rank) {
    has_energy_ = has_energy_ || places[rank].gpu[0] != 0;
    counts_energy_ = counts_energy_ && (rank >= world_.rank() || places[rank].gpu != own.gpu);
    if (is_first()) hosts_.emplace_back(places[rank].host.data());
  }
  if (is_first()) set_slow_ranks();
}

// Ranks of one pipeline stage have the same work.
void Loop::set_slow_ranks() {
  std::vector<std::int64_t> stages;
  const auto& layout = config_.layout;
  const auto ranks_of_stage =
      layout.tensor_parallel * layout.context_parallel * layout.data_parallel;
  for (int rank = 0; rank < world_.size(); ++rank)
    stages.push_back(rank / std::max<std::int64_t>(1, ranks_of_stage));
  slow_ranks_.emplace(std::move(stages));
}

// At the end, after the last step's.
double Loop::all_joules() {
  if (!has_energy_ || world_.size() == 1) return own_joules();
  const auto sum =
      at::full({1}, own_joules(), at::TensorOptions(at::kDouble).device(world_.device()));
  world_.world().all_reduce(sum).wait();
  return sum.item<double>();
}

void Loop::tell_slow_ranks(const std::vector<double>& busy) {
  if (!slow_ranks_ || !busy_ || busy.empty()) return;
  for (const auto& slow : slow_ranks_->look(step_, busy))
    events_.write("slow_rank", {{"step", step_},
                                {"rank", slow.rank},
                                {"host", hosts_[slow.rank]},
                                {"busy_seconds", slow.seconds},
                                {"typical_seconds", slow.typical},
                                {"since", slow.since},
                                {"over", slow.over}});
}

void Loop::tell_step(const StepBatch& batch, const StepResult& result, double seconds) {
  const auto [peak, communicated, idle, joules, busy] = share();
  if (!is_first()) return;
  std::optional<double> bubble;
  if (config_.layout.pipeline_parallel > 1 && idle_share_) bubble = idle;
  const auto seq = config_.model.seq;
  const double rate = static_cast<double>(batch.global_batch * seq) / seconds;
  const bool full = plan::common_settings.recompute(config_) == "full";
  const double flops =
      plan::megatron_flops(config_.model, static_cast<double>(batch.global_batch), full);
  const StepEvent event{step_,
                        result.loss,
                        seconds,
                        consumed_ * seq,
                        rate,
                        static_cast<std::int64_t>(peak),
                        result.gradient_norm,
                        batch.learning_rate,
                        result.loss_scale,
                        result.skipped,
                        static_cast<std::uint64_t>(communicated),
                        bubble,
                        has_energy_ ? std::optional(joules) : std::nullopt,
                        steps_,
                        consumed_,
                        batch.global_batch,
                        skipped_,
                        flops / seconds / world_.size() / 1e12};
  events_.step(event);
  tell_slow_ranks(busy);
  fmt::print("{}\n", log_line(event));
  std::fflush(stdout);
  skipped_ = 0;
  board_->scalars(step_, {{"loss", result.loss},
                          {"learning_rate", batch.learning_rate},
                          {"gradient_norm", result.gradient_norm},
                          {"tokens_per_second", rate},
                          {"step_seconds", seconds}});
}

// The device's remaining work on the last step must not be counted elsewhere.
void Loop::wait_for_device() const {
  at::zeros({1}, at::TensorOptions().device(world_.device())).item<float>();
}

// The samples are always the same, so that losses of different steps can be compared.
void Loop::evaluate() {
  const auto count = config_.training.evaluate_batches * config_.batch.global_batch;
  const double loss = engine_->evaluate(*held_out_, 0, count);
  if (!is_first()) return;
  events_.write("evaluation", {{"step", step_}, {"loss", loss}});
  board_->scalars(step_, {{"evaluation_loss", loss}});
  fmt::print(" evaluation after iteration {} | lm loss: {:.6E} | samples: {}\n", step_, loss,
             count);
}

void Loop::save() {
  if (world_.is_alone()) return;  // the state of a slice is useless
  wait_for_writers();
  world_.check();
  checkpoint::CheckpointFacts facts;
  facts.step = step_;
  facts.consumed_samples = consumed_;
  facts.seed = config_.training.seed;
  facts.ranks = world_.size();
  facts.numbers["tokens"] = static_cast<double>(consumed_ * config_.model.seq);
  facts.texts["model"] = plan::model_json(config_.model);
  facts.texts["strategy"] = config_.strategy->name;
  facts.texts["experiment"] = config_.experiment;
  auto saved = engine_->save(facts);
  const bool reads = saved.reads;
  checkpointer_.save(std::move(facts), std::move(saved));
  saved_at_ = step_;
  if (reads) wait_for_writers();
}

// Waits until no rank is writing any more.
void Loop::wait_for_writers() {
  wait_while(world_, [&] {
    tell_checkpoints();
    return checkpointer_.is_writing();
  });
}

void Loop::tell_checkpoints() {
  for (const auto& outcome : checkpointer_.take_outcomes()) {
    if (!outcome.status) {
      const auto why = text(outcome.status.error());
      fmt::print(stderr, "the checkpoint of step {} failed: {}\n", outcome.facts.step, why);
      if (is_first())
        events_.write("checkpoint_failed", {{"step", outcome.facts.step}, {"message", why}});
    } else if (is_first()) {
      events_.write("checkpoint", {{"step", outcome.facts.step}});
    }
  }
}

void Loop::tell_profile() {
  if (!is_first() || measured_steps_ == 0) return;
  auto times = profile_.seconds_per_step();
  double other = measured_seconds_ / static_cast<double>(measured_steps_);
  for (const auto& [item, seconds] : times) other -= seconds;
  times["other"] = std::max(0.0, other);
  auto memory = engine_->memory_items();
  if (world_.device().is_cpu())
    memory["driver context"] = context_bytes_;
  else
    memory["peak on the host"] = static_cast<double>(peak_memory_bytes(at::kCPU));
  // Seconds per step and bytes, by the estimator's names.
  events_.write("profile", {{"step", step_}, {"time_items", times}, {"memory_items", memory}});
}

void Loop::finish() {
  tell_profile();
  engine_->finish();
  wait_for_writers();
  const auto status = checkpointer_.finish();
  tell_checkpoints();
  // If any rank failed, so did rank 0, which knows the cause; the others get it from there.
  if (!status && is_first()) throw ClassifiedFailure("disk", text(status.error()));
  const double joules = all_joules();
  world_.world().barrier();  // no rank leaves before the checkpoint is complete
  world_.check();
  nlohmann::ordered_json end = {{"step", step_}};
  if (has_energy_) end["joules"] = joules;
  if (is_first()) events_.write("end", end);
}

bool Loop::run() {
  resume();
  open_datasets();
  tell_start();
  share_places();
  last_end_ = std::chrono::steady_clock::now();
  while (step_ < steps_ && !phase_ends()) {
    const bool stop = step();
    const auto before = world_.bytes();
    const bool evaluates = due(config_.training.evaluate_every),
               saves = may_save() && (stop || due(config_.training.checkpoint_every));
    if (evaluates || saves) wait_for_device();
    const auto between = std::chrono::steady_clock::now();
    if (evaluates) evaluate();
    if (saves) save();
    if (evaluates || saves) last_end_ += std::chrono::steady_clock::now() - between;
    tell_checkpoints();
    own_bytes_ += world_.bytes() - before;
    if (stop && step_ < steps_) {
      finish();
      return false;
    }
  }
  if (may_save() && saved_at_ != step_) save();
  finish();
  return true;
}

}  // namespace

bool train(const plan::Run& config, const TrainingJob& job, World& world, Events& events,
           const MakeEngine& make) {
  return Loop(config, job, world, events, make).run();
}

}  // namespace orch::train
