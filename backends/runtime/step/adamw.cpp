#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include <algorithm>

#include "backends/runtime/kernels/adamw_kernel.h"
#include "backends/runtime/kernels/kernels.h"
#include "backends/runtime/step/optimizers.h"

namespace orch::train {
namespace {

// So that threads get equal shares, and on CUDA blocks.
constexpr std::int64_t kChunk = 1 << 15;  // elements

struct Chunk {
  std::int64_t offset;
  std::int64_t count;
  bool decay;
};

std::vector<Chunk> chunks_of(const Parameters& parameters) {
  std::vector<Chunk> chunks;
  for (const auto& parameter : parameters)
    for (std::int64_t at = 0; at < parameter.count; at += kChunk)
      chunks.push_back(
          {parameter.offset + at, std::min(kChunk, parameter.count - at), parameter.spec.decay});
  return chunks;
}

class Adamw final : public Optimizer {
 public:
  Adamw(Parameters& parameters, const OptimizerOptions& options)
      : parameters_(parameters),
        options_(options),
        chunks_(chunks_of(parameters)),
        exp_avg_(at::zeros_like(parameters.masters())),
        exp_avg_sq_(at::zeros_like(parameters.masters())) {
    if (!parameters.masters().is_cuda())
      kernel_ = adamw_kernel(parameters.masters().scalar_type(), parameters.weights().scalar_type(),
                             parameters.gradients().scalar_type());
  }

  void step(double learning_rate, double gradient_scale, std::int64_t step) override {
    if (kernel_)
      step_cpu(learning_rate, gradient_scale, step);
    else
      step_cuda(learning_rate, gradient_scale, step);
  }

  std::vector<OptimizerState> states() override {
    std::vector<OptimizerState> states;
    for (std::size_t i = 0; i < parameters_.size(); ++i) {
      states.push_back({"exp_avg", i, view(exp_avg_, parameters_[i])});
      states.push_back({"exp_avg_sq", i, view(exp_avg_sq_, parameters_[i])});
    }
    return states;
  }

  std::int64_t state_bytes() const override {
    return static_cast<std::int64_t>(exp_avg_.nbytes() + exp_avg_sq_.nbytes());
  }

 private:
  static at::Tensor view(const at::Tensor& flat, const Parameter& parameter) {
    return flat.narrow(0, parameter.offset, parameter.count).view(parameter.weight.sizes());
  }

  void step_cpu(double learning_rate, double gradient_scale, std::int64_t step) {
    const auto factors = [&](double weight_decay) {
      return adamw_factors(learning_rate, weight_decay, options_.beta1, options_.beta2,
                           options_.epsilon, gradient_scale, step);
    };
    const auto decaying = factors(options_.weight_decay), plain = factors(0);
    const AdamwBuffers buffers{
        parameters_.masters().data_ptr(),
        parameters_.has_masters() ? parameters_.weights().data_ptr() : nullptr,
        parameters_.gradients().data_ptr(), exp_avg_.data_ptr(), exp_avg_sq_.data_ptr()};
    const auto count = static_cast<std::int64_t>(chunks_.size());
    at::parallel_for(0, count, 1, [&](std::int64_t begin, std::int64_t end) {
      for (auto i = begin; i < end; ++i) {
        const auto& chunk = chunks_[static_cast<std::size_t>(i)];
        kernel_(buffers, chunk.offset, chunk.offset + chunk.count, chunk.decay ? decaying : plain);
      }
    });
  }

#ifdef ORCH_CUDA
  void step_cuda(double learning_rate, double gradient_scale, std::int64_t step) {
    if (!chunk_table_.defined()) make_chunk_table();
    cuda::adamw({.master = parameters_.masters(),
                 .weight = parameters_.has_masters() ? parameters_.weights() : at::Tensor(),
                 .gradient = parameters_.gradients(),
                 .exp_avg = exp_avg_,
                 .exp_avg_sq = exp_avg_sq_,
                 .chunks = chunk_table_,
                 .learning_rate = learning_rate,
                 .weight_decay = options_.weight_decay,
                 .beta1 = options_.beta1,
                 .beta2 = options_.beta2,
                 .epsilon = options_.epsilon,
                 .gradient_scale = gradient_scale,
                 .step = step});
  }

  void make_chunk_table() {
    auto table = at::empty({static_cast<std::int64_t>(chunks_.size()), 3}, at::kLong);
    auto* to = table.data_ptr<std::int64_t>();
    for (const auto& chunk : chunks_) {
      *to++ = chunk.offset;
      *to++ = chunk.count;
      *to++ = chunk.decay ? 1 : 0;
    }
    chunk_table_ = table.to(parameters_.masters().device());
  }

  at::Tensor chunk_table_;
#else
  void step_cuda(double, double, std::int64_t) {}  // there are no such tensors
#endif

  Parameters& parameters_;
  OptimizerOptions options_;
  std::vector<Chunk> chunks_;
  at::Tensor exp_avg_, exp_avg_sq_;
  AdamwKernel kernel_ = nullptr;
};

}  // namespace

std::unique_ptr<Optimizer> make_adamw(Parameters& parameters, const OptimizerOptions& options) {
  return std::make_unique<Adamw>(parameters, options);
}

}  // namespace orch::train
