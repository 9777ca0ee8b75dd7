#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "backends/runtime/model/parameters.h"
#include "core/plan/run.h"

namespace orch::train {

struct OptimizerOptions {
  double weight_decay = 0.1;
  double beta1 = 0.9;
  double beta2 = 0.95;
  double epsilon = 1e-8;
  bool deferred = false;  // the caller of Update must finish the host's work
  // For parameters that are cut into parts: `counts` selects those that this rank counts and no
  // other, and `sum` sums over the ranks with the other parts. Unset: every parameter is complete.
  std::function<bool(std::size_t parameter)> counts = {};
  std::function<void(const at::Tensor& buffer)> sum = {};
  // With `sum`: makes sums of a parameter equal on all ranks that have a copy of it.
  std::function<void(std::size_t parameter, const at::Tensor& buffer)> agree = {};
};

// A state tensor of the optimizer that belongs to a parameter, for checkpoints.
struct OptimizerState {
  std::string kind;        // "exp_avg", "exp_avg_sq", "row", "column"
  std::size_t parameter;   // index in Parameters
  at::Tensor tensor;       // a view: loading copies into it
  bool by_element = true;  // has an element for each of the parameter's, beginning with this one:
  std::int64_t begin = 0;
};

// Updates masters from gradients, and writes the products' weights in the same pass.
class Optimizer {
 public:
  virtual ~Optimizer() = default;
  // gradient_scale multiplies every gradient first (clipping and loss scale combined); step: from
  // 1.
  virtual void step(double learning_rate, double gradient_scale, std::int64_t step) = 0;
  // The host's part of the update is still running when step() returns: until it ends, gradients
  // must not change, and the weights are the old ones. For an owned range: is_finished; and finish,
  // which waits for it, so that following work on the current stream uses the new weights. Without
  // an argument: for all ranges.
  virtual bool is_finished(std::size_t) const { return true; }
  virtual void finish(std::size_t) {}
  virtual void finish() {}
  virtual std::vector<OptimizerState> states() = 0;
  virtual std::int64_t state_bytes() const = 0;
  virtual std::int64_t host_state_bytes() const { return 0; }  // of these, the bytes in host memory
  virtual double staging_bytes() const { return 0; }           // pinned memory for transfers
};

class Profile;
// Calls finish(owned), and measures the time that the host still needed, by the estimator's name.
void finish(Optimizer& optimizer, std::size_t owned, Profile& profile);

// "adamw": decoupled weight decay, moments in fp32 (in the weights' type without master weights).
// "adafactor": the variant of Shazeer & Stern 2018 without relative steps and without first moment:
// beta2 = 1 - t^-0.8, row and column means for matrices, update clipped at RMS 1, the learning rate
// as given, decoupled weight decay. parameters must outlive the optimizer.
std::unique_ptr<Optimizer> make_optimizer(const std::string& name, Parameters& parameters,
                                          const OptimizerOptions& options);
std::unique_ptr<Optimizer> make_adamw(Parameters& parameters, const OptimizerOptions& options);
std::unique_ptr<Optimizer> make_adafactor(Parameters& parameters, const OptimizerOptions& options);

// The sum of squares of a flat buffer of gradients, as a tensor of one double on its device (no
// synchronisation); not finite if any element is not. The same bits on every device, with any
// number of threads.
at::Tensor sum_of_squares(const at::Tensor& flat);

// max_norm / (norm + 1e-6), at most 1; 1 if max_norm is 0.
double clip_coefficient(double norm, double max_norm);

// fp16: halves on overflow, doubles after `window` good steps; before the first overflow after ten
// of them, so that an initial scale that is too low rises quickly. Other types: always 1.
class LossScale {
 public:
  LossScale(bool dynamic, double initial, std::int64_t window);
  double scale() const { return scale_; }
  void update(bool overflow);
  // For checkpoints: the scale, good steps since its last change, whether there was an overflow.
  using State = std::tuple<double, std::int64_t, bool>;
  State state() const { return {scale_, good_steps_, has_overflowed_}; }
  void restore(const State& state);
  bool is_exhausted() const { return dynamic_ && scale_ < 1; }

 private:
  bool dynamic_;
  double scale_;
  std::int64_t window_;
  std::int64_t good_steps_ = 0;
  bool has_overflowed_ = false;
};

// step: from 1. Warm-up is linear from 0: the first step has 1/warmup of the rate. decay_steps are
// counted from the beginning; afterwards the rate is the minimum. steps: of the run, for a training
// without decay_steps.
double learning_rate_at(const plan::Training& training, std::int64_t steps, std::int64_t step);

}  // namespace orch::train
