#include "backends/zero3/gradient_ring.h"

#include <ATen/ATen.h>

#include <algorithm>

#include "backends/runtime/host/pool.h"
#include "backends/runtime/kernels/squares.h"

namespace orch::zero3 {

using namespace train;

namespace {

template <class T>
void add_as(float* to, const void* from, std::int64_t begin, std::int64_t end, bool adds) {
  const auto* values = static_cast<const T*>(from);
  for (auto i = begin; i < end; ++i) to[i] = (adds ? to[i] : 0) + static_cast<float>(values[i]);
}

void add_range(float* to, const void* from, at::ScalarType dtype, std::int64_t begin,
               std::int64_t end, bool adds) {
  if (dtype == at::kFloat) return add_as<float>(to, from, begin, end, adds);
  if (dtype == at::kHalf) return add_as<at::Half>(to, from, begin, end, adds);
  add_as<at::BFloat16>(to, from, begin, end, adds);
}

// to += from, or to = from; the squares of its chunks are computed in the same pass.
void add(const at::Tensor& to, const void* from, at::ScalarType dtype, bool adds,
         std::vector<double>& squared) {
  const auto count = to.numel(), chunks = (count + squares::kChunk - 1) / squares::kChunk;
  const auto before = squared.size();
  squared.resize(before + static_cast<std::size_t>(chunks));
  host_pool().run(chunks, [&](std::int64_t chunk) {
    const auto first = chunk * squares::kChunk, last = std::min(count, first + squares::kChunk);
    add_range(to.data_ptr<float>(), from, dtype, first, last, adds);
    squared[before + static_cast<std::size_t>(chunk)] =
        squares::of_chunk(to.narrow(0, first, last - first));
  });
}

}  // namespace

GradientRing::GradientRing(CommGroup* group, Parameters& parameters,
                           const std::vector<BucketRange>& units, const RingOptions& options,
                           Profile& profile)
    : group_(group),
      parameters_(parameters),
      units_(units),
      options_(options),
      profile_(profile),
      reduced_(parameters.gradients().device()),
      staging_(parameters.gradients().device()) {
  if (options.layers > 0)
    for (auto& buffer : ring_) buffer = make_buffer(0);
  embedding_ = make_buffer(-1);
  final_norm_ = make_buffer(options.layers);
}

GradientRing::Buffer GradientRing::make_buffer(std::int64_t layer) const {
  const auto& [begin, end] = units_[unit_of(layer, options_.layers)].range;
  Buffer buffer;
  buffer.flat = at::zeros({end - begin}, parameters_.gradients().options().dtype(at::kFloat));
  return buffer;
}

void GradientRing::begin() {
  next_ = 0;
  is_begun_.assign(units_.size(), false);
  squares_.assign(units_.size(), 0);
}

void GradientRing::bind(Buffer& buffer, std::int64_t layer) {
  take(buffer);
  if (!buffer.flat.defined()) buffer = make_buffer(layer);
  buffer.unit = unit_of(layer, options_.layers);
  const auto& unit = units_[buffer.unit];
  for (auto i = unit.first; i < unit.end; ++i) {
    auto& parameter = parameters_[i];
    parameter.gradient = buffer.flat.narrow(0, parameter.offset - unit.range.begin, parameter.count)
                             .view(parameter.shape);
  }
  if (layer == -1)
    buffer.flat.zero_();  // it may be sent when only the head has added to it
  else
    parameters_.zero_gradients(unit.first, unit.end);
}

void GradientRing::before(std::int64_t layer, Direction way) {
  if (way == Direction::forward) return;
  if (layer == -1) {
    if (options_.twice) bind(embedding_, -1);  // otherwise bound since the head
    return;
  }
  if (layer == options_.layers) {
    bind(embedding_, -1);
    return bind(final_norm_, layer);
  }
  at_hand_ = &ring_[next_++ % 2];
  bind(*at_hand_, layer);
}

void GradientRing::after(std::int64_t layer, Direction way) {
  if (way == Direction::forward) return;
  auto& buffer = layer == -1 ? embedding_ : layer == options_.layers ? final_norm_ : *at_hand_;
  send(buffer);
  if (!options_.overlap) take(buffer);
  if (options_.twice && layer == options_.layers) send(embedding_);
  // By the next layer it has been sent, or is being sent.
  if (options_.twice && layer == options_.layers - 1) take_embedding();
}

// Unbinds its tensors too, otherwise its memory would stay allocated.
void GradientRing::take_embedding() {
  take(embedding_);
  embedding_.flat.reset();
  for (auto i = units_[embedding_.unit].first; i < units_[embedding_.unit].end; ++i)
    parameters_[i].gradient.reset();
}

// The sum is divided once, in finish(); 16-bit types before they are sent: see Reducer.
void GradientRing::send(Buffer& buffer) {
  Profile::Scope scope(&profile_, group_ ? "gradient reduce-scatter" : "gradients to host");
  buffer.is_under_way = true;
  if (group_) {
    const bool wide = options_.sent_as == at::kFloat;
    buffer.sent = wide ? buffer.flat : buffer.flat.div_(group_->size()).to(options_.sent_as);
    const auto part = buffer.sent.numel() / group_->size();
    buffer.mine = buffer.sent.narrow(0, group_->rank() * part, part);
    buffer.pending = group_->reduce_scatter(buffer.mine, buffer.sent);
  } else {
    buffer.mine = buffer.flat;
  }
  std::size_t sent = 0;
  for (const auto* each : {&ring_[0], &ring_[1], &embedding_, &final_norm_})
    if (each->sent.defined() && !each->sent.is_same(each->flat)) sent += each->sent.nbytes();
  most_sent_ = std::max(most_sent_, sent);
  if (parameters_.owned()[buffer.unit].is_away) add_on_host(buffer);
}

// Queued behind the reduction, which the device's own work need not wait for.
void GradientRing::add_on_host(Buffer& buffer) {
  const auto now = StreamEvent::now(buffer.mine.device());
  const auto there = reduced_.behind([&] {
    now.wait();
    buffer.pending.wait();
  });
  const bool adds = is_begun_[buffer.unit];
  is_begun_[buffer.unit] =
      true;  // the other buffer may receive the same one's gradient before this is taken
  buffer.added = worker_.post([this, there, adds, unit = buffer.unit, mine = buffer.mine,
                               sum = parameters_.owned()[buffer.unit].gradient] {
    std::vector<Staging::Slice> slices;
    for (std::int64_t at = 0; at < mine.numel(); at += Staging::kMost)
      slices.push_back({mine.narrow(0, at, std::min(Staging::kMost, mine.numel() - at)), {}});
    std::vector<double> squared;  // by chunk
    staging_.begin(slices, there);
    staging_.run(slices.size(), [&](std::size_t i, const void* from, void*) {
      const auto at = static_cast<std::int64_t>(i) * Staging::kMost;
      add(sum.narrow(0, at, slices[i].down.numel()), from, mine.scalar_type(), adds, squared);
    });
    squares_[unit] = squares::of_sums(squared.data(), static_cast<std::int64_t>(squared.size()));
  });
}

std::optional<double> GradientRing::squares_of(std::size_t unit) const {
  if (!parameters_.owned()[unit].is_away || is_divided_last()) return std::nullopt;
  return squares_[unit];
}

void GradientRing::take(Buffer& buffer) {
  if (!buffer.is_under_way) return;
  Profile::Scope scope(&profile_, group_ ? "gradient reduce-scatter" : "gradients to host");
  const auto& owned = parameters_.owned()[buffer.unit];
  if (owned.is_away) {
    worker_.wait(buffer.added);
  } else {
    buffer.pending.wait();
    if (is_begun_[buffer.unit])
      owned.gradient.add_(buffer.mine);
    else
      owned.gradient.copy_(buffer.mine);
  }
  is_begun_[buffer.unit] = true;
  buffer.is_under_way = false;
  buffer.pending = {};  // it would keep what was sent
  buffer.sent.reset();
  buffer.mine.reset();
}

void GradientRing::finish() {
  Profile::Scope scope(&profile_, "gradient reduce-scatter");
  for (std::size_t i = 0; i < 2; ++i) take(ring_[(next_ + i) % 2]);  // the older one first
  take(embedding_);
  take(final_norm_);
  if (!is_divided_last()) return;
  for (const auto& owned : parameters_.owned()) owned.gradient.div_(group_->size());
}

void GradientRing::describe(std::map<std::string, std::string>& effective) const {
  effective["gradients_reduced"] = "layer by layer, in every micro-batch";
}

void GradientRing::count(std::map<std::string, double>& memory_items) const {
  const auto& [begin, end] = units_.back().range;  // the embedding's, which may not exist
  auto sum = static_cast<std::size_t>(end - begin) * sizeof(float) + final_norm_.flat.nbytes();
  for (const auto& buffer : ring_) sum += buffer.flat.defined() ? buffer.flat.nbytes() : 0;
  memory_items["gradients before reduction"] = static_cast<double>(sum + most_sent_);
  if (staging_.bytes() > 0) memory_items["staging on the host"] += staging_.bytes();
}

}  // namespace orch::zero3
