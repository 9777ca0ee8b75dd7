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
  std::int64_t offset;  // in its range
  std::int64_t count;
  bool decay;
};

// An owned range with its moments.
struct Part {
  Owned owned;
  std::vector<Chunk> chunks;
  at::Tensor exp_avg, exp_avg_sq;
  at::Tensor chunk_table = {};  // on CUDA
};

std::vector<Chunk> chunks_of(const Owned& owned, const Parameters& parameters) {
  std::vector<Chunk> chunks;
  for (const auto& [parameter, begin, end, offset] : owned.segments)
    for (std::int64_t at = 0; at < end - begin; at += kChunk)
      chunks.push_back({offset + at, std::min(kChunk, end - begin - at),
                        parameters[parameter].spec.decay});
  return chunks;
}

class Adamw final : public Optimizer {
 public:
  Adamw(Parameters& parameters, const OptimizerOptions& options)
      : parameters_(parameters), options_(options) {
    for (const auto& owned : parameters.owned())
      parts_.push_back({owned, chunks_of(owned, parameters), at::zeros_like(owned.master),
                        at::zeros_like(owned.master)});
    if (!parameters.masters().is_cuda())
      kernel_ = adamw_kernel(parameters.masters().scalar_type(), parameters.weights().scalar_type(),
                             parameters.gradients().scalar_type());
  }

  void step(double learning_rate, double gradient_scale, std::int64_t step) override {
    for (auto& part : parts_) {
      if (part.chunks.empty()) continue;  // padding
      if (kernel_)
        step_cpu(part, learning_rate, gradient_scale, step);
      else
        step_cuda(part, learning_rate, gradient_scale, step);
    }
  }

  std::vector<OptimizerState> states() override {
    std::vector<OptimizerState> states;
    for (const auto& part : parts_)
      for (const auto& segment : part.owned.segments) {
        states.push_back(state("exp_avg", part.exp_avg, segment));
        states.push_back(state("exp_avg_sq", part.exp_avg_sq, segment));
      }
    return states;
  }

  std::int64_t state_bytes() const override {
    std::int64_t bytes = 0;
    for (const auto& part : parts_)
      bytes += static_cast<std::int64_t>(part.exp_avg.nbytes() + part.exp_avg_sq.nbytes());
    return bytes;
  }

 private:
  OptimizerState state(const char* kind, const at::Tensor& flat, const Segment& segment) const {
    const auto& parameter = parameters_[segment.parameter];
    const auto count = segment.end - segment.begin;
    auto tensor = flat.narrow(0, segment.at, count);
    if (count == parameter.count) tensor = tensor.view(parameter.shape);
    return {kind, segment.parameter, tensor, true, segment.begin};
  }

  void step_cpu(const Part& part, double learning_rate, double gradient_scale,
                std::int64_t step) const {
    const auto factors = [&](double weight_decay) {
      return adamw_factors(learning_rate, weight_decay, options_.beta1, options_.beta2,
                           options_.epsilon, gradient_scale, step);
    };
    const auto decaying = factors(options_.weight_decay), plain = factors(0);
    const auto& owned = part.owned;
    const AdamwBuffers buffers{owned.master.data_ptr(),
                               owned.weight.defined() ? owned.weight.data_ptr() : nullptr,
                               owned.gradient.data_ptr(), part.exp_avg.data_ptr(),
                               part.exp_avg_sq.data_ptr()};
    const auto count = static_cast<std::int64_t>(part.chunks.size());
    at::parallel_for(0, count, 1, [&](std::int64_t begin, std::int64_t end) {
      for (auto i = begin; i < end; ++i) {
        const auto& chunk = part.chunks[static_cast<std::size_t>(i)];
        kernel_(buffers, chunk.offset, chunk.offset + chunk.count, chunk.decay ? decaying : plain);
      }
    });
  }

#ifdef ORCH_CUDA
  void step_cuda(Part& part, double learning_rate, double gradient_scale, std::int64_t step) const {
    if (!part.chunk_table.defined()) make_chunk_table(part);
    cuda::adamw({.master = part.owned.master,
                 .weight = part.owned.weight,
                 .gradient = part.owned.gradient,
                 .exp_avg = part.exp_avg,
                 .exp_avg_sq = part.exp_avg_sq,
                 .chunks = part.chunk_table,
                 .learning_rate = learning_rate,
                 .weight_decay = options_.weight_decay,
                 .beta1 = options_.beta1,
                 .beta2 = options_.beta2,
                 .epsilon = options_.epsilon,
                 .gradient_scale = gradient_scale,
                 .step = step});
  }

  static void make_chunk_table(Part& part) {
    auto table = at::empty({static_cast<std::int64_t>(part.chunks.size()), 3}, at::kLong);
    auto* to = table.data_ptr<std::int64_t>();
    for (const auto& chunk : part.chunks) {
      *to++ = chunk.offset;
      *to++ = chunk.count;
      *to++ = chunk.decay ? 1 : 0;
    }
    part.chunk_table = table.to(part.owned.master.device());
  }
#else
  void step_cuda(Part&, double, double, std::int64_t) const {}  // there are no such tensors
#endif

  Parameters& parameters_;
  OptimizerOptions options_;
  std::vector<Part> parts_;
  AdamwKernel kernel_ = nullptr;
};

}  // namespace

std::unique_ptr<Optimizer> make_adamw(Parameters& parameters, const OptimizerOptions& options) {
  return std::make_unique<Adamw>(parameters, options);
}

}  // namespace orch::train
