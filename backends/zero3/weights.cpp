// Stage 3's weights. A slot is a buffer for one unit: its all-gather is started ahead of time by
// start(), and wait() binds the parameters' tensors to it when it has arrived. Layer n always uses
// slot n % slots, so that all ranks start the same gathers in the same order without communication:
// NCCL would deadlock otherwise. before() starts the gathers for the layer and, as far as the
// optimizer has updated them, for the next ones in its direction, then waits for the layer's own;
// the slot of a layer that is done is simply overwritten. Forward ends with the last layers in the
// slots, which backward needs first.
#include "backends/zero3/weights.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <algorithm>

namespace orch::zero3 {

using namespace train;

GatheredWeights::GatheredWeights(CommGroup* group, Parameters& parameters, Optimizer& optimizer,
                                 const std::vector<BucketRange>& units, const SlotOptions& options,
                                 Profile& profile)
    : group_(group),
      parameters_(parameters),
      optimizer_(optimizer),
      units_(units),
      options_(options),
      profile_(profile),
      copies_(parameters.weights().device()) {
  const auto count =
      options.keeps_all ? options.layers : std::min(options.ahead + 1, options.layers);
  for (std::int64_t i = 0; i < count; ++i) slots_.push_back(make_slot(0));
  embedding_ = make_slot(-1);
  final_norm_ = make_slot(options.layers);
  for (std::int64_t layer = -1; layer <= options.layers; ++layer)
    if (is_in_place(layer)) {
      const auto& owned = parameters.owned()[unit_of(layer, options.layers)];
      bind(layer, owned.weight.defined() ? owned.weight : owned.master);
    }
}

bool GatheredWeights::is_in_place(std::int64_t layer) const {
  return !group_ && !parameters_.owned()[unit_of(layer, options_.layers)].is_away;
}

// Layer 0 represents all layers: the ones in host memory are the last ones.
GatheredWeights::Slot GatheredWeights::make_slot(std::int64_t layer) const {
  const auto& [begin, end] = units_[unit_of(layer, options_.layers)].range;
  const bool is_layer = layer >= 0 && layer < options_.layers;
  const auto size = is_in_place(is_layer ? options_.layers - 1 : layer) ? 0 : end - begin;
  Slot slot;
  slot.flat = at::zeros({size}, parameters_.weights().options().dtype(options_.dtype));
  return slot;
}

void GatheredWeights::bind(std::int64_t layer, const at::Tensor& flat) {
  const auto& unit = units_[unit_of(layer, options_.layers)];
  for (auto i = unit.first; i < unit.end; ++i) {
    auto& parameter = parameters_[i];
    parameter.weight =
        flat.narrow(0, parameter.offset - unit.range.begin, parameter.count).view(parameter.shape);
  }
}

// The layer itself, and those that come next in this direction.
std::vector<std::int64_t> GatheredWeights::wanted(std::int64_t layer, Direction way) const {
  std::vector<std::int64_t> all;
  const std::int64_t step = way == Direction::forward ? 1 : -1;
  for (std::int64_t k = 0; k <= options_.ahead; ++k)
    if (const auto next = layer + step * k; next >= 0 && next < options_.layers)
      all.push_back(next);
  return all;
}

GatheredWeights::Slot* GatheredWeights::find(std::int64_t layer) {
  auto& slot = room_for(layer);
  return slot.layer == layer ? &slot : nullptr;
}

// A layer's slot is fixed: the content of slots after forward must not depend on when the host's
// update was done, otherwise ranks would gather different layers in backward.
GatheredWeights::Slot& GatheredWeights::room_for(std::int64_t layer) {
  if (layer == -1) return embedding_;
  if (layer == options_.layers) return final_norm_;
  return slots_[static_cast<std::size_t>(layer) % slots_.size()];
}

void GatheredWeights::start(std::int64_t layer) {
  if (is_in_place(layer) || find(layer)) return;
  auto& slot = room_for(layer);
  if (slot.layer != kNone && !slot.is_there) slot.pending.wait();  // gathered but never used
  slot.layer = layer;
  slot.is_there = false;
  const auto unit = unit_of(layer, options_.layers);
  train::finish(optimizer_, unit, profile_);
  gather(slot, unit);
}

// On a device the gather waits for the work launched before it, which used the slot. A part from
// host memory is copied on a separate stream, after which it is gathered: nothing else waits for
// it.
void GatheredWeights::gather(Slot& slot, std::size_t unit) {
  const auto& owned = parameters_.owned()[unit];
  const auto& mine = owned.weight.defined() ? owned.weight : owned.master;
  const auto& [begin, end] = units_[unit].range;
  const auto whole = slot.flat.narrow(0, 0, end - begin);
  if (!owned.is_away) {
    Profile::Scope scope(&profile_, "weight all-gather");
    slot.part = mine.to(options_.dtype);
    slot.pending = group_->all_gather(whole, slot.part);
    return;
  }
  Profile::Scope scope(&profile_, "weights to device");
  const auto now = StreamEvent::now(whole.device());
  if (!group_) return void(slot.copied = copies_.copy(whole, mine, now));
  if (!slot.fetched.defined()) slot.fetched = at::empty_like(mine, whole.options());
  copies_.copy(slot.fetched, mine, now);
  slot.copied = copies_.behind([&] { slot.pending = group_->all_gather(whole, slot.fetched); });
}

void GatheredWeights::arrive(Slot& slot) {
  slot.copied.wait();
  slot.pending.wait();
  slot.part.reset();
}

void GatheredWeights::wait(std::int64_t layer) {
  if (is_in_place(layer))
    return train::finish(optimizer_, unit_of(layer, options_.layers), profile_);
  auto& slot = *find(layer);
  if (slot.is_there) return;
  {
    Profile::Scope scope(&profile_, group_ ? "weight all-gather" : "weights to device");
    arrive(slot);
  }
  slot.is_there = true;
  bind(layer, slot.flat);
}

// Gathers ahead only what the host has updated: the present layer need not wait for that.
void GatheredWeights::before(std::int64_t layer, Direction way) {
  if (layer == -1 && way == Direction::backward) return;  // its gradient does not need its weights
  const auto ahead = wanted(layer, way);
  std::vector<std::int64_t> needed = {layer};
  if (layer == options_.layers) needed.push_back(-1);  // the word embedding
  for (const auto each : needed) start(each);
  for (const auto each : ahead) {
    if (!optimizer_.is_finished(unit_of(each, options_.layers))) break;
    start(each);
  }
  for (const auto each : needed) wait(each);
}

void GatheredWeights::after(std::int64_t layer, Direction way) {
  if (way == Direction::forward) return;
  const bool is_end = layer == -1 || layer == options_.layers;
  if (is_end ? !options_.frees_ends : !options_.keeps_all) return;
  if (auto* slot = find(layer)) slot->layer = kNone;
}

void GatheredWeights::updated(bool) {
  const auto clear = [](Slot& slot) {
    if (slot.layer != kNone && !slot.is_there) arrive(slot);
    slot.layer = kNone;
    slot.is_there = false;
  };
  for (auto& slot : slots_) clear(slot);
  clear(embedding_);
  clear(final_norm_);
}

void GatheredWeights::describe(std::map<std::string, std::string>& effective) const {
  const auto dtype = effective["dtype"];
  effective["prefetch"] = std::to_string(options_.ahead);
  effective["weights"] = fmt::format(
      "in parts of {}, gathered in {} and {}", options_.frees_ends ? "fp32" : dtype, dtype,
      options_.keeps_all ? "kept from forward to backward" : "freed after each use");
}

void GatheredWeights::count(std::map<std::string, double>& memory_items) const {
  const auto of = [](const Slot& slot) {
    return slot.flat.nbytes() + (slot.fetched.defined() ? slot.fetched.nbytes() : 0);
  };
  auto sum = of(embedding_) + of(final_norm_);
  for (const auto& slot : slots_) sum += of(slot);
  memory_items["gathered weights"] = static_cast<double>(sum);
}

}  // namespace orch::zero3
