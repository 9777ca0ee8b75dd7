#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>

#include "backends/runtime/comm/mesh.h"
#include "backends/runtime/model/stage.h"
#include "core/train/pipeline/schedule.h"

namespace orch::megatron {

// The messages of a channel in one step, in order: the next recv is posted before the present
// message is used. Not in the first step, in which the device allocates memory: that would wait for
// a recv, which waits for results that this rank has not computed yet.
class Inbox {
 public:
  Inbox(train::Channel& channel, train::Profile* profile) : channel_(channel), profile_(profile) {}

  void expect(std::int64_t messages, const std::vector<std::int64_t>& shape,
              const at::TensorOptions& like);
  at::Tensor take();                // waits; throws CommError
  void warm() { is_warm_ = true; }  // a whole step is done

 private:
  void ask();

  train::Channel& channel_;
  train::Profile* profile_;
  std::vector<std::int64_t> shape_;
  at::TensorOptions like_;
  std::int64_t left_ = 0;  // not posted yet
  bool is_warm_ = false;
  at::Tensor next_;
  train::PendingCollective pending_;
};

struct PipelineOptions {
  train::ModelOptions model;
  std::int64_t micro_batch = 1;
  bool filled = false;
  // For benchmarks: additional milliseconds for a stage's forward, its input gradient and its
  // weight gradient. From ORCH_TEST_SLOW_MS.
  double slow_ms = 0;
};

// The chunks of this rank's stage, and their communication with the neighbours.
class Pipeline {
 public:
  // mesh, parameters and profile must outlive it. spans: one per chunk.
  Pipeline(train::Mesh& mesh, const PipelineOptions& options,
           const std::vector<train::LayerSpan>& spans, train::Parameters& parameters,
           train::Profile* profile);

  // Reads micro-batch m of the step for this rank's replica.
  using Read = std::function<train::MicroBatch(std::int64_t micro, bool with_tokens)>;

  // Adds gradients of the sum of (mean loss * scale) over the micro-batches, and reports each
  // parameter whose gradient is complete. Returns the sum of losses times loss_share: zero on ranks
  // without the head.
  at::Tensor train(std::int64_t micro_batches, double scale, double loss_share, const Read& read,
                   const train::Ready& ready);
  at::Tensor evaluate(std::int64_t micro_batches, double loss_share, const Read& read);

  bool uses_sdpa() const { return chunks_.front()->uses_sdpa(); }
  std::int64_t activation_bytes() const;
  std::int64_t logits_bytes() const;

 private:
  // One micro-batch between a chunk's forward and backward.
  struct Flight {
    train::MicroBatch batch;
    train::Stage::Saved saved;
    std::vector<train::WeightProduct> put_off;
    at::Tensor output;  // sent; kept until its gradient comes back
    train::PendingCollective sent;
  };
  struct Step {
    pipeline::PipelineShape shape;
    double scale, loss_share;
    const Read& read;
    const train::Ready& ready;
    at::Tensor loss;
    std::map<std::pair<std::int64_t, std::int64_t>, Flight> flights;  // by chunk and micro-batch
  };

  bool embeds(std::int64_t chunk) const;
  bool predicts(std::int64_t chunk) const;
  void expect(const std::vector<pipeline::Task>& tasks);
  at::Tensor receive(Inbox& inbox);
  at::Tensor wrapped(const at::Tensor& rows) const;
  train::MicroBatch read(const Read& read, const pipeline::Task& task) const;
  void forward(Step& step, const pipeline::Task& task);
  void backward(Step& step, const pipeline::Task& task);
  void weights(Step& step, const pipeline::Task& task);
  void slow_down(double passes) const;
  void send(train::Channel& to, at::Tensor message);
  void finish_sends();
  at::Tensor zero() const;

  train::Mesh& mesh_;
  const PipelineOptions options_;
  train::Profile* profile_;
  std::vector<std::unique_ptr<train::Stage>> chunks_;
  Inbox activations_, gradients_;
  struct Sent {
    at::Tensor message;
    train::PendingCollective pending;
  };
  std::deque<Sent> sends_;
};

}  // namespace orch::megatron
