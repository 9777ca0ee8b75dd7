#include <ATen/ATen.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "backends/runtime/host/memory.h"
#include "backends/runtime/host/pool.h"
#include "backends/runtime/host/worker.h"
#include "backends/runtime/kernels/adamw_kernel.h"
#include "backends/runtime/kernels/kernels.h"
#include "backends/runtime/step/optimizer.h"
#include "backends/runtime/step/staging.h"

namespace orch::train {
namespace {

// The unit of work, so that threads, and blocks on CUDA, get equal shares.
constexpr std::int64_t kChunk = 1 << 15;  // elements

struct Chunk {
  std::int64_t offset;  // in its owned range
  std::int64_t count;
  bool decay;
};

// An owned range with its moments.
struct ParameterPart {
  OwnedRange owned;
  std::vector<Chunk> chunks;
  at::Tensor exp_avg, exp_avg_sq;
  AdamwKernel kernel = nullptr;  // null on CUDA, which uses:
  at::Tensor chunk_table = {};
  // For the last update, if the host does it:
  Worker::Ticket updated = 0;
  StreamEvent there = {};  // the new weights have been copied to the device
};

ParameterPart part_of(const OwnedRange& owned, std::vector<Chunk> chunks) {
  const auto zeros = [&] {
    return owned.on_host ? host_zeros(owned.master.numel(), owned.master.scalar_type())
                         : at::zeros_like(owned.master);
  };
  ParameterPart part{owned, std::move(chunks), zeros(), zeros()};
  const auto& written = owned.weight.defined() ? owned.weight : owned.master;
  if (!owned.master.is_cuda())
    part.kernel = adamw_kernel(owned.master.scalar_type(), written.scalar_type(),
                               owned.gradient.scalar_type());
  return part;
}

std::vector<Chunk> chunks_of(const OwnedRange& owned, const Parameters& parameters) {
  std::vector<Chunk> chunks;
  for (const auto& [parameter, begin, end, offset] : owned.segments)
    for (std::int64_t at = 0; at < end - begin; at += kChunk)
      chunks.push_back(
          {offset + at, std::min(kChunk, end - begin - at), parameters[parameter].spec.decay});
  return chunks;
}

// Consecutive chunks.
struct ChunkSlice {
  std::size_t first = 0, end = 0;
  ElementRange range;
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

// The gaps between parameters stay zero. weight begins with the slice.
void clear_between(const std::vector<Chunk>& chunks, const ChunkSlice& slice, void* weight,
                   std::size_t element) {
  for (auto i = slice.first; i + 1 < slice.end; ++i) {
    const auto end = chunks[i].offset + chunks[i].count;
    std::memset(
        static_cast<char*>(weight) + static_cast<std::size_t>(end - slice.range.begin) * element, 0,
        static_cast<std::size_t>(chunks[i + 1].offset - end) * element);
  }
}

class Adamw final : public Optimizer {
 public:
  Adamw(Parameters& parameters, const OptimizerOptions& options)
      : parameters_(parameters), options_(options), staging_(parameters.gradients().device()) {
    for (const auto& owned : parameters.owned())
      parts_.push_back(part_of(owned, chunks_of(owned, parameters)));
  }

  // Updates the device's parts at once. The host's parts follow in forward's order, in which the
  // next step needs them, while the caller continues.
  void step(double learning_rate, double gradient_scale, std::int64_t step) override {
    const auto rates = rates_of(learning_rate, gradient_scale, step);
    for (auto& part : parts_) {
      if (part.chunks.empty() || part.owned.on_host) continue;  // padding, or on the host
      if (part.kernel)
        update_here(part, rates);
      else
        step_cuda(part, learning_rate, gradient_scale, step);
    }
    std::vector<Staging::Slice> staged;
    std::vector<ParameterPart*> on_host;
    for (auto part = parts_.rbegin(); part != parts_.rend(); ++part)
      if (part->owned.on_host) {
        on_host.push_back(&*part);
        stage(*part, staged);
      }
    if (on_host.empty()) return;
    worker_.post([this, staged, now = StreamEvent::now(parameters_.gradients().device())] {
      staging_.begin(staged, now);
    });
    for (auto* part : on_host)
      part->updated = worker_.post([this, part, rates] {
        if (part->owned.is_away)
          update_here(*part, rates);
        else
          part->there = update_staged(*part, rates);
      });
  }

  bool is_finished(std::size_t owned) const override {
    return worker_.is_done(parts_[owned].updated);
  }

  void finish(std::size_t owned) override {
    auto& part = parts_[owned];
    worker_.wait(part.updated);
    std::exchange(part.there, {}).wait();
  }

  void finish() override {
    for (auto i = parts_.size(); i-- > 0;) finish(i);
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
    return bytes_where([](const ParameterPart&) { return true; });
  }
  std::int64_t host_state_bytes() const override {
    return bytes_where([](const ParameterPart& part) { return part.owned.on_host; });
  }
  double staging_bytes() const override { return staging_.bytes(); }

 private:
  template <class Counts>
  std::int64_t bytes_where(const Counts& counts) const {
    std::size_t bytes = 0;
    for (const auto& part : parts_)
      if (counts(part)) bytes += part.exp_avg.nbytes() + part.exp_avg_sq.nbytes();
    return static_cast<std::int64_t>(bytes);
  }

  OptimizerState state(const char* kind, const at::Tensor& flat, const FlatSegment& segment) const {
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

  // Gradients and weights are in the same memory as the masters.
  void update_here(const ParameterPart& part, const Rates& rates) const {
    const auto &master = part.owned.master, &weight = part.owned.weight;
    update(part, {0, part.chunks.size(), {}}, part.owned.gradient.data_ptr(),
           weight.defined() ? weight.data_ptr() : nullptr, rates);
    if (weight.defined() && weight.scalar_type() == master.scalar_type()) weight.copy_(master);
  }

  static void stage(const ParameterPart& part, std::vector<Staging::Slice>& to) {
    if (part.owned.is_away) return;
    for (const auto& [first, last, range] : slices_of(part.chunks))
      to.push_back({part.owned.gradient.narrow(0, range.begin, range.end - range.begin),
                    part.owned.weight.narrow(0, range.begin, range.end - range.begin)});
  }

  // Gradients come from the device, and weights go back there.
  StreamEvent update_staged(const ParameterPart& part, const Rates& rates) {
    const auto& master = part.owned.master;
    const auto& weight = part.owned.weight;
    const auto element = weight.element_size();
    const auto slices = slices_of(part.chunks);
    return staging_.run(slices.size(), [&](std::size_t i, const void* gradient, void* to) {
      update(part, slices[i], gradient, to, rates);
      const auto [begin, end] = slices[i].range;
      if (weight.scalar_type() == master.scalar_type())
        std::memcpy(to, master.data_ptr<float>() + begin,
                    static_cast<std::size_t>(end - begin) * element);
      else
        clear_between(part.chunks, slices[i], to, element);
    });
  }

  // gradient and weight begin with the slice.
  static void update(const ParameterPart& part, const ChunkSlice& slice, const void* gradient,
                     void* weight, const Rates& rates) {
    const auto from = [&](const at::Tensor& flat) -> void* {
      return static_cast<char*>(flat.data_ptr()) +
             slice.range.begin * static_cast<std::int64_t>(flat.element_size());
    };
    const AdamwBuffers buffers{from(part.owned.master), weight, gradient, from(part.exp_avg),
                               from(part.exp_avg_sq)};
    const auto count = static_cast<std::int64_t>(slice.end - slice.first);
    host_pool().run(count, [&](std::int64_t i) {
      const auto& chunk = part.chunks[slice.first + static_cast<std::size_t>(i)];
      const auto at = chunk.offset - slice.range.begin;
      part.kernel(buffers, at, at + chunk.count, chunk.decay ? rates.decaying : rates.plain);
    });
  }

#ifdef ORCH_CUDA
  void step_cuda(ParameterPart& part, double learning_rate, double gradient_scale,
                 std::int64_t step) const {
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

  static void make_chunk_table(ParameterPart& part) {
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
  void step_cuda(ParameterPart&, double, double, std::int64_t) const {
  }  // never called without CUDA
#endif

  Parameters& parameters_;
  OptimizerOptions options_;
  std::vector<ParameterPart> parts_;
  Staging staging_;
  Worker worker_;  // last member: destroyed before the data that it works on
};

}  // namespace

std::unique_ptr<Optimizer> make_adamw(Parameters& parameters, const OptimizerOptions& options) {
  return std::make_unique<Adamw>(parameters, options);
}

}  // namespace orch::train
