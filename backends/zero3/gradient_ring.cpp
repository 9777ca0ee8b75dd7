#include "backends/zero3/gradient_ring.h"

#include <ATen/ATen.h>

namespace orch::zero3 {

using namespace train;

GradientRing::GradientRing(Group& group, Parameters& parameters, const std::vector<BucketRange>& units,
                           const RingOptions& options, Profile& profile)
    : group_(group), parameters_(parameters), units_(units), options_(options), profile_(profile) {
  if (options.layers > 0)
    for (auto& buffer : ring_) buffer = make_buffer(0);
  embedding_ = make_buffer(-1);
  final_norm_ = make_buffer(options.layers);
}

GradientRing::Buffer GradientRing::make_buffer(std::int64_t layer) const {
  const auto& [begin, end] = units_[unit_of(layer, options_.layers)].range;
  return {at::zeros({end - begin}, parameters_.gradients().options().dtype(at::kFloat)), {}, {}};
}

void GradientRing::begin() {
  next_ = 0;
  is_begun_.assign(units_.size(), false);
}

void GradientRing::bind(Buffer& buffer, std::int64_t layer) {
  take(buffer);
  buffer.unit = unit_of(layer, options_.layers);
  buffer.flat.zero_();
  const auto& unit = units_[buffer.unit];
  for (auto i = unit.first; i < unit.end; ++i) {
    auto& parameter = parameters_[i];
    parameter.gradient = buffer.flat.narrow(0, parameter.offset - unit.range.begin, parameter.count)
                             .view(parameter.shape);
  }
}

void GradientRing::before(std::int64_t layer) {
  if (layer == -1) return;  // since the head
  if (layer == options_.layers) {
    bind(embedding_, -1);
    return bind(final_norm_, layer);
  }
  at_hand_ = &ring_[next_++ % 2];
  bind(*at_hand_, layer);
}

void GradientRing::after(std::int64_t layer) {
  auto& buffer = layer == -1 ? embedding_ : layer == options_.layers ? final_norm_ : *at_hand_;
  send(buffer);
  if (!options_.overlap) take(buffer);
}

// The sum is divided once, in finish(); 16 bits before they are sent: see Reducer.
void GradientRing::send(Buffer& buffer) {
  const bool wide = options_.sent_as == at::kFloat;
  buffer.sent = wide ? buffer.flat : buffer.flat.div_(group_.size()).to(options_.sent_as);
  const auto part = buffer.sent.numel() / group_.size();
  buffer.mine = buffer.sent.narrow(0, group_.rank() * part, part);
  buffer.pending = group_.reduce_scatter(buffer.mine, buffer.sent);
  buffer.is_under_way = true;
}

void GradientRing::take(Buffer& buffer) {
  if (!buffer.is_under_way) return;
  Profile::Scope scope(&profile_, "gradient reduce-scatter");
  buffer.pending.wait();
  const auto& sum = parameters_.owned()[buffer.unit].gradient;
  if (is_begun_[buffer.unit])
    sum.add_(buffer.mine);
  else
    sum.copy_(buffer.mine);
  is_begun_[buffer.unit] = true;
  buffer.is_under_way = false;
  buffer.pending = {};  // it would hold what was sent
  buffer.sent.reset();
  buffer.mine.reset();
}

void GradientRing::finish() {
  for (auto& buffer : ring_) take(buffer);
  take(embedding_);
  take(final_norm_);
  if (options_.sent_as == at::kFloat) parameters_.gradients().div_(group_.size());
}

double GradientRing::bytes() const {
  auto sum = embedding_.flat.nbytes() + final_norm_.flat.nbytes();
  for (const auto& buffer : ring_) sum += buffer.flat.defined() ? buffer.flat.nbytes() : 0;
  return static_cast<double>(sum);
}

}  // namespace orch::zero3
