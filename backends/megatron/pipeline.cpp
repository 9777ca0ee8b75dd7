#include "backends/megatron/pipeline.h"

#include <ATen/ATen.h>

#include <chrono>
#include <thread>

namespace orch::megatron {

using namespace train;
using pipeline::PipelinePass;
using pipeline::Task;

void Inbox::expect(std::int64_t messages, const std::vector<std::int64_t>& shape,
                   const at::TensorOptions& like) {
  left_ = messages;
  shape_ = shape;
  like_ = like;
  if (is_warm_ && left_ > 0) ask();
}

void Inbox::ask() {
  --left_;
  next_ = at::empty(shape_, like_);
  pending_ = channel_.recv(next_);
}

at::Tensor Inbox::take() {
  if (!next_.defined()) ask();
  {
    Profile::Scope scope(profile_, "idle");
    pending_.wait();
  }
  auto message = std::move(next_);
  next_ = at::Tensor();
  if (is_warm_ && left_ > 0) ask();
  return message;
}

Pipeline::Pipeline(Mesh& mesh, const PipelineOptions& options, const std::vector<LayerSpan>& spans,
                   Parameters& parameters, Profile* profile)
    : mesh_(mesh),
      options_(options),
      profile_(profile),
      activations_(mesh.channels().from_previous, profile),
      gradients_(mesh.channels().from_next, profile) {
  for (const auto& span : spans)
    chunks_.push_back(std::make_unique<Stage>(options.model, span, parameters, profile));
}

bool Pipeline::embeds(std::int64_t chunk) const {
  return chunks_[static_cast<std::size_t>(chunk)]->span().embeds;
}

bool Pipeline::predicts(std::int64_t chunk) const {
  return chunks_[static_cast<std::size_t>(chunk)]->span().predicts;
}

// Ranks that share a layer send a share of the rows each: together they have all of them and can
// gather them within their node.
void Pipeline::expect(const std::vector<Task>& tasks) {
  if (mesh_.stages() == 1) return;
  const auto& model = options_.model;
  const auto rows = options_.micro_batch * model.config.seq;
  const bool shared = rows % model.axis.size() == 0;
  std::int64_t forwards = 0, backwards = 0;
  for (const auto& task : tasks) {
    if (task.pass == PipelinePass::forward && !embeds(task.chunk)) ++forwards;
    if (task.pass == PipelinePass::backward && !predicts(task.chunk)) ++backwards;
  }
  const std::vector<std::int64_t> shape = {shared ? rows / model.axis.size() : rows,
                                           model.config.hidden};
  const auto like = at::TensorOptions().dtype(model.dtype).device(model.device);
  activations_.expect(forwards, shape, like);
  gradients_.expect(backwards, shape, like);
}

at::Tensor Pipeline::receive(Inbox& inbox) {
  auto rows = inbox.take();
  const auto& axis = options_.model.axis;
  const bool is_share = rows.size(0) < options_.micro_batch * options_.model.config.seq;
  return is_share && !axis.shares_rows() ? axis.from_shares(rows).take() : rows;
}

at::Tensor Pipeline::wrapped(const at::Tensor& rows) const {
  const auto& axis = options_.model.axis;
  const bool is_whole = !axis.is_alone() && !axis.shares_rows() && rows.size(0) % axis.size() == 0;
  return (is_whole ? axis.share_of(rows) : rows).contiguous();
}

MicroBatch Pipeline::read(const Read& read, const Task& task) const {
  return read(task.micro_batch, embeds(task.chunk) || predicts(task.chunk));
}

void Pipeline::forward(Step& step, const Task& task) {
  auto& chunk = *chunks_[static_cast<std::size_t>(task.chunk)];
  auto& flight = step.flights[{task.chunk, task.micro_batch}];
  flight.batch = read(step.read, task);
  const auto input = embeds(task.chunk) ? at::Tensor() : receive(activations_);
  const auto output = chunk.forward(flight.batch, input, flight.saved);
  slow_down(1);
  if (predicts(task.chunk)) return;
  Profile::Scope scope(profile_, "send activations");
  flight.output = wrapped(output);
  flight.sent = mesh_.channels().to_next.send(flight.output);
}

// A stage that returns a gradient has received the corresponding activations.
void Pipeline::backward(Step& step, const Task& task) {
  auto& chunk = *chunks_[static_cast<std::size_t>(task.chunk)];
  auto& flight = step.flights.at({task.chunk, task.micro_batch});
  at::Tensor dy;
  if (!predicts(task.chunk)) {
    dy = receive(gradients_);
    flight.sent.wait();
    flight.output.reset();
  }
  const bool is_last = task.micro_batch + 1 == step.shape.micro_batches;
  const Gradients gradients{is_last ? step.ready : Ready(),
                            step.shape.filled ? &flight.put_off : nullptr};
  auto [dx, loss] = chunk.backward(flight.batch, dy, step.scale, flight.saved, gradients);
  slow_down(step.shape.filled ? 1 : 2);
  if (loss.defined()) step.loss.add_(loss, step.loss_share);
  if (!embeds(task.chunk)) {
    Profile::Scope scope(profile_, "send gradients");
    send(mesh_.channels().to_previous, wrapped(dx));
  }
  if (!step.shape.filled) step.flights.erase({task.chunk, task.micro_batch});
}

void Pipeline::weights(Step& step, const Task& task) {
  auto& flight = step.flights.at({task.chunk, task.micro_batch});
  const bool is_last = task.micro_batch + 1 == step.shape.micro_batches;
  chunks_[static_cast<std::size_t>(task.chunk)]->add_put_off(
      flight.put_off, {is_last ? step.ready : Ready(), nullptr});
  slow_down(1);
  step.flights.erase({task.chunk, task.micro_batch});
}

void Pipeline::slow_down(double passes) const {
  if (options_.slow_ms <= 0) return;
  const auto chunks = static_cast<double>(chunks_.size());
  std::this_thread::sleep_for(
      std::chrono::duration<double, std::milli>(options_.slow_ms * passes / chunks));
}

void Pipeline::send(Channel& to, at::Tensor message) {
  // With Gloo the end of a send is unknown; but no neighbour is this many messages behind.
  const auto most = 2 * static_cast<std::size_t>(mesh_.stages()) * chunks_.size();
  while (!sends_.empty() && (sends_.front().pending.is_done() || sends_.size() > most)) {
    sends_.front().pending.wait();
    sends_.pop_front();
  }
  auto pending = to.send(message);
  sends_.push_back({std::move(message), std::move(pending)});
}

void Pipeline::finish_sends() {
  for (auto& sent : sends_) sent.pending.wait();
  sends_.clear();
}

at::Tensor Pipeline::zero() const {
  return at::zeros({}, at::TensorOptions().dtype(at::kFloat).device(options_.model.device));
}

at::Tensor Pipeline::train(std::int64_t micro_batches, double scale, double loss_share,
                           const Read& read, const Ready& ready) {
  const pipeline::PipelineShape shape{mesh_.stages(), static_cast<std::int64_t>(chunks_.size()),
                                      micro_batches, options_.filled};
  const auto tasks = pipeline::tasks(shape, mesh_.stage());
  Step step{shape, scale, loss_share, read, ready, zero(), {}};
  expect(tasks);
  for (const auto& task : tasks) {
    if (task.pass == PipelinePass::forward) forward(step, task);
    if (task.pass == PipelinePass::backward) backward(step, task);
    if (task.pass == PipelinePass::weights) weights(step, task);
  }
  finish_sends();
  activations_.warm();
  gradients_.warm();
  return step.loss;
}

at::Tensor Pipeline::evaluate(std::int64_t micro_batches, double loss_share, const Read& read) {
  const auto tasks = pipeline::forwards(
      {mesh_.stages(), static_cast<std::int64_t>(chunks_.size()), micro_batches, false});
  auto loss = zero();
  expect(tasks);
  for (const auto& task : tasks) {
    const auto batch = this->read(read, task);
    const auto input = embeds(task.chunk) ? at::Tensor() : receive(activations_);
    const auto output = chunks_[static_cast<std::size_t>(task.chunk)]->evaluate(batch, input);
    if (predicts(task.chunk)) {
      loss.add_(output, loss_share);
      continue;
    }
    send(mesh_.channels().to_next, wrapped(output));
  }
  finish_sends();
  return loss;
}

std::int64_t Pipeline::activation_bytes() const {
  std::int64_t sum = 0;
  for (const auto& chunk : chunks_) sum += chunk->activation_bytes();
  return sum;
}

std::int64_t Pipeline::logits_bytes() const { return chunks_.back()->logits_bytes(); }

}  // namespace orch::megatron
