#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include <algorithm>
#include <cstring>

#include "backends/runtime/kernels/adamw_kernel.h"
#include "backends/runtime/kernels/kernels.h"
#include "backends/runtime/step/optimizers.h"
#include "backends/runtime/step/staging.h"

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

// Some chunks that lie in a row.
struct ChunkSlice {
  std::size_t first = 0, end = 0;
  Range range;
};

std::vector<ChunkSlice> slices_of(const std::vector<Chunk>& chunks) {
  std::vector<ChunkSlice> slices;
  for (std::size_t i = 0; i < chunks.size(); ++i) {
    const auto end = chunks[i].offset + chunks[i].count;
    if (slices.empty() || end - slices.back().range.begin > Staging::kMost)
      slices.push_back({i, i, {chunks[i].offset, end}});
    slices.back().end = i + 1;
    slices.back().range.end = end;
  }
  return slices;
}

// What lies between parameters stays zero. weight begins with the slice.
void clear_between(const std::vector<Chunk>& chunks, const ChunkSlice& slice, void* weight,
                   std::size_t element) {
  for (auto i = slice.first; i + 1 < slice.end; ++i) {
    const auto end = chunks[i].offset + chunks[i].count;
    std::memset(static_cast<char*>(weight) + static_cast<std::size_t>(end - slice.range.begin) * element, 0,
                static_cast<std::size_t>(chunks[i + 1].offset - end) * element);
  }
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
    if (kernel_ && parameters_.gradients().is_cuda())
      return step_staged(rates_of(learning_rate, gradient_scale, step));
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

  struct Rates {
    AdamwFactors decaying, plain;
  };

  Rates rates_of(double learning_rate, double gradient_scale, std::int64_t step) const {
    const auto factors = [&](double weight_decay) {
      return adamw_factors(learning_rate, weight_decay, options_.beta1, options_.beta2,
                           options_.epsilon, gradient_scale, step);
    };
    return {factors(options_.weight_decay), factors(0)};
  }

  void step_cpu(const Part& part, double learning_rate, double gradient_scale,
                std::int64_t step) const {
    const auto& owned = part.owned;
    update(part, {0, part.chunks.size(), {}}, owned.gradient.data_ptr(),
           owned.weight.defined() ? owned.weight.data_ptr() : nullptr,
           rates_of(learning_rate, gradient_scale, step));
  }

  // On the host, where the masters are: slices of all parts in a row.
  void step_staged(const Rates& rates) {
    std::vector<std::pair<const Part*, ChunkSlice>> all;
    std::vector<Staging::Slice> staged;
    for (const auto& part : parts_)
      for (const auto& slice : slices_of(part.chunks)) {
        const auto [begin, end] = slice.range;
        all.emplace_back(&part, slice);
        staged.push_back({part.owned.gradient.narrow(0, begin, end - begin),
                          part.owned.weight.narrow(0, begin, end - begin)});
      }
    staging_.run(staged, [&](std::size_t i, const void* gradient, void* weight) {
      const auto& [part, slice] = all[i];
      const auto& master = part->owned.master;
      const auto element = part->owned.weight.element_size();
      update(*part, slice, gradient, weight, rates);
      if (part->owned.weight.scalar_type() == master.scalar_type())
        std::memcpy(weight, master.data_ptr<float>() + slice.range.begin,
                    static_cast<std::size_t>(slice.range.end - slice.range.begin) * element);
      else
        clear_between(part->chunks, slice, weight, element);
    });
  }

  // gradient and weight begin with the slice.
  void update(const Part& part, const ChunkSlice& slice, const void* gradient, void* weight,
              const Rates& rates) const {
    const auto from = [&](const at::Tensor& flat) -> void* {
      return static_cast<char*>(flat.data_ptr()) +
             slice.range.begin * static_cast<std::int64_t>(flat.element_size());
    };
    const AdamwBuffers buffers{from(part.owned.master), weight, gradient, from(part.exp_avg),
                               from(part.exp_avg_sq)};
    const auto first = static_cast<std::int64_t>(slice.first), end = static_cast<std::int64_t>(slice.end);
    at::parallel_for(first, end, 1, [&](std::int64_t begin, std::int64_t last) {
      for (auto i = begin; i < last; ++i) {
        const auto& chunk = part.chunks[static_cast<std::size_t>(i)];
        const auto at = chunk.offset - slice.range.begin;
        kernel_(buffers, at, at + chunk.count, chunk.decay ? rates.decaying : rates.plain);
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
  Staging staging_;
};

}  // namespace

std::unique_ptr<Optimizer> make_adamw(Parameters& parameters, const OptimizerOptions& options) {
  return std::make_unique<Adamw>(parameters, options);
}

}  // namespace orch::train
