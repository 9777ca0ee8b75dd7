#include "backends/zero3/weights.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <stdexcept>

namespace orch::zero3 {

using namespace train;

GatheredWeights::GatheredWeights(Group& group, Parameters& parameters,
                                 const std::vector<BucketRange>& units, const SlotOptions& options,
                                 Profile& profile)
    : group_(group), parameters_(parameters), units_(units), options_(options), profile_(profile) {
  const auto count = options.keeps_all ? options.layers : std::min(options.ahead + 1, options.layers);
  for (std::int64_t i = 0; i < count; ++i) slots_.push_back(make_slot(0));
  embedding_ = make_slot(-1);
  final_norm_ = make_slot(options.layers);
}

GatheredWeights::Slot GatheredWeights::make_slot(std::int64_t layer) const {
  const auto& [begin, end] = units_[unit_of(layer, options_.layers)].range;
  return {at::zeros({end - begin}, parameters_.weights().options().dtype(options_.dtype)), {}};
}

// The layer itself, and those that come next on this way.
std::vector<std::int64_t> GatheredWeights::wanted(std::int64_t layer, Way way) const {
  std::vector<std::int64_t> all;
  const std::int64_t step = way == Way::forward ? 1 : -1;
  for (std::int64_t k = 0; k <= options_.ahead; ++k)
    if (const auto next = layer + step * k; next >= 0 && next < options_.layers) all.push_back(next);
  return all;
}

GatheredWeights::Slot* GatheredWeights::find(std::int64_t layer) {
  if (layer == -1) return embedding_.layer == layer ? &embedding_ : nullptr;
  if (layer == options_.layers) return final_norm_.layer == layer ? &final_norm_ : nullptr;
  for (auto& slot : slots_)
    if (slot.layer == layer) return &slot;
  return nullptr;
}

GatheredWeights::Slot& GatheredWeights::room_for(std::int64_t layer,
                                                 const std::vector<std::int64_t>& kept) {
  if (layer == -1) return embedding_;
  if (layer == options_.layers) return final_norm_;
  if (options_.keeps_all) return slots_[static_cast<std::size_t>(layer)];
  for (auto& slot : slots_)
    if (slot.layer == kNone || std::find(kept.begin(), kept.end(), slot.layer) == kept.end())
      return slot;
  throw std::logic_error("no slot is free");
}

// On a device the gather waits for what was launched before it: whatever used the slot.
void GatheredWeights::start(std::int64_t layer, const std::vector<std::int64_t>& kept) {
  if (find(layer)) return;
  auto& slot = room_for(layer, kept);
  if (slot.layer != kNone && !slot.is_there) slot.pending.wait();  // nobody came to need it
  const auto unit = unit_of(layer, options_.layers);
  const auto& owned = parameters_.owned()[unit];
  const auto& mine = owned.weight.defined() ? owned.weight : owned.master;
  slot.part = mine.to(options_.dtype);
  slot.layer = layer;
  slot.is_there = false;
  const auto& [begin, end] = units_[unit].range;
  slot.pending = group_.all_gather(slot.flat.narrow(0, 0, end - begin), slot.part);
}

void GatheredWeights::wait(std::int64_t layer) {
  auto& slot = *find(layer);
  if (slot.is_there) return;
  {
    Profile::Scope scope(&profile_, "weight all-gather");
    slot.pending.wait();
  }
  slot.part.reset();
  slot.is_there = true;
  const auto& unit = units_[unit_of(layer, options_.layers)];
  for (auto i = unit.first; i < unit.end; ++i) {
    auto& parameter = parameters_[i];
    parameter.weight = slot.flat.narrow(0, parameter.offset - unit.range.begin, parameter.count)
                           .view(parameter.shape);
  }
}

void GatheredWeights::before(std::int64_t layer, Way way) {
  if (layer == -1 && way == Way::backward) return;  // gradients of words need no words
  const auto kept = wanted(layer, way);
  std::vector<std::int64_t> needed = {layer};
  if (layer == options_.layers) needed.push_back(-1);  // the words
  for (const auto each : needed) start(each, kept);
  for (const auto each : kept) start(each, kept);
  for (const auto each : needed) wait(each);
}

void GatheredWeights::after(std::int64_t layer, Way way) {
  if (way == Way::forward) return;
  const bool is_end = layer == -1 || layer == options_.layers;
  if (is_end ? !options_.frees_ends : !options_.keeps_all) return;
  if (auto* slot = find(layer)) slot->layer = kNone;
}

void GatheredWeights::forget() {
  const auto clear = [](Slot& slot) {
    if (slot.layer != kNone && !slot.is_there) slot.pending.wait();
    slot.layer = kNone;
    slot.is_there = false;
  };
  for (auto& slot : slots_) clear(slot);
  clear(embedding_);
  clear(final_norm_);
}

double GatheredWeights::bytes() const {
  auto sum = embedding_.flat.nbytes() + final_norm_.flat.nbytes();
  for (const auto& slot : slots_) sum += slot.flat.nbytes();
  return static_cast<double>(sum);
}

}  // namespace orch::zero3
