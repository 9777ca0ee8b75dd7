#pragma once

#include <optional>

#include "backends/runtime/model/block.h"
#include "backends/runtime/model/embedding.h"
#include "backends/runtime/model/head.h"
#include "backends/runtime/model/host_activations.h"

namespace orch::train {

// Consecutive layers of the model; with what comes before the first and behind the last of them.
struct LayerSpan {
  std::int64_t first = 0, end = 0;  // layers
  bool embeds = true;
  bool predicts = true;

  static LayerSpan whole(const plan::Model& config) { return {0, config.layers, true, true}; }
};

// The parameters of a span in the order in which backward completes their gradients; the word
// embedding is last. It has `vocab` rows: see padded_vocab.
std::vector<ParameterSpec> parameter_specs(const plan::Model& config, const LayerSpan& span,
                                           std::int64_t vocab);
std::vector<ParameterSpec> parameter_specs(const plan::Model& config);  // the whole model
// The layer whose forward uses a parameter first; -1: the embedding; `layers`: the head.
std::int64_t layer_of(const std::string& parameter, std::int64_t layers);

// Layers of a language model: all of them, or those of a pipeline stage (or of a chunk). Forward
// and backward are separate, so that several micro-batches can be between the two.
class Stage {
 public:
  // What backward needs of one micro-batch's forward.
  struct Saved {
    Embedding::Saved embedded;
    std::vector<SavedBlock> blocks;
    ResidualStream last;  // input of the head
    std::int64_t bytes() const;
  };

  // parameters (of parameter_specs) and profile must outlive the stage; profile may be null.
  Stage(const ModelOptions& options, const LayerSpan& span, Parameters& parameters,
        Profile* profile);
  Stage(const ModelOptions& options, Parameters& parameters, Profile* profile)  // the whole model
      : Stage(options, LayerSpan::whole(options.config), parameters, profile) {}

  // input: this rank's rows of the stream; undefined if the embedding is here. Returns the stream
  // behind the last layer; undefined if the head is here.
  at::Tensor forward(const MicroBatch& batch, const at::Tensor& input, Saved& saved);
  // dy: gradient of forward's output; undefined if the head is here, where backward begins: it adds
  // gradients of (mean loss * scale) and returns the mean loss, one fp32 on the device. Empties
  // `saved`.
  struct Backward {
    at::Tensor gradient;  // gradient of forward's input
    at::Tensor loss;
  };
  Backward backward(const MicroBatch& batch, const at::Tensor& dy, double scale, Saved& saved,
                    const Gradients& gradients);
  // Without dropout. Returns the stream, or, if the head is here, the mean loss.
  at::Tensor evaluate(const MicroBatch& batch, const at::Tensor& input = {});

  // For the whole model.
  at::Tensor train(const MicroBatch& batch, double scale,
                   const Ready& ready);        // returns the mean loss
  at::Tensor logits(const MicroBatch& batch);  // [samples * seq, vocab]

  // Computes the products that backward delayed.
  void add_put_off(std::vector<WeightProduct>& products, const Gradients& gradients);

  const LayerSpan& span() const { return span_; }
  bool uses_sdpa() const { return attention_.uses_sdpa(); }
  // The maximum stored for backward by micro-batches, and the maximum of logits at a time.
  std::int64_t activation_bytes() const {
    return most_kept_ + (shelf_ ? shelf_->bytes_on_their_way() : 0);
  }
  double host_bytes() const { return shelf_ ? shelf_->bytes() : 0; }  // of inputs in host memory
  std::int64_t logits_bytes() const { return head_ ? head_->logits_bytes() : 0; }

 private:
  ResidualStream run(const MicroBatch& batch, const at::Tensor& input, Saved* saved);
  LayerPlace place(const MicroBatch& batch) const;
  void before(std::int64_t layer, Direction way) const;
  void after(std::int64_t layer, Direction way) const;
  void bring_back(std::size_t block, Saved& saved);

  ModelOptions options_;
  LayerSpan span_;
  Parameters* parameters_;
  Profile* profile_;
  Attention attention_;
  std::optional<Embedding> embedding_;
  std::vector<TransformerBlock> blocks_;
  std::optional<Head> head_;
  std::optional<HostActivations> shelf_;
  std::int64_t kept_ = 0, most_kept_ = 0;
};

}  // namespace orch::train
