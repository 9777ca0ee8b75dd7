// Enumerates the configurations of a search. The space is a tree of four levels. A base is one
// combination of the values that the experiment lists, and a shape one size of model: both are
// numbers that set_base() decodes. A block is a layout of a base and shape: blocks() tries all
// divisors for tensor and pipeline parallelism and the micro-batch, and drops those that cannot
// work by arithmetic. Within a block only settings differ, and next() counts through their points
// like an odometer.
//
// The experiment is a copy in which each open field has a placeholder, an axis with a single point;
// a maker writes its choice there and lets the planner's resolver derive the rest. This full
// resolution is done once per block; within a block only the changed settings are written into the
// run, unless a function of the experiment may depend on them.
#include "core/price/search/maker.h"

#include <algorithm>
#include <numeric>

namespace orch::search {
namespace {

using plan::Field;
using plan::Value;

// Locks only if a function of the experiment may be called.
std::unique_lock<std::mutex> lock_functions(const SearchSpace& space, const SpacePart& part) {
  return part.functions ? std::unique_lock(space.functions()) : std::unique_lock<std::mutex>();
}

// A step size near the golden section, which visits a cycle most evenly, coprime to its length.
std::size_t leap(std::size_t size) {
  auto length = std::max<std::size_t>(1, size * 618 / 1000);
  while (std::gcd(length, size) > 1) ++length;
  return length;
}

std::vector<std::int64_t> one(std::int64_t value) { return {value}; }

}  // namespace

RunMaker::RunMaker(const SearchSpace& space, std::uint32_t part)
    : space_(space),
      part_(space.parts()[part]),
      index_(part),
      own_(part_.experiment),
      frame_(own_, own_.models.front(), own_.strategies.front()),
      resolver_(frame_, space.find_cluster()),
      points_(frame_.axes().size(), 0) {
  for (const auto* axis : frame_.axes()) bases_ *= axis->points.size();
}

std::uint32_t RunMaker::shapes() const {
  return std::max<std::uint32_t>(1, static_cast<std::uint32_t>(part_.shapes.size()));
}

Value& RunMaker::placeholder(std::string_view field) {
  auto& axes = own_.strategies.front().space.axes;
  const auto found = std::find_if(axes.rbegin(), axes.rend(), [&](const plan::SweepAxis& axis) {
    return axis.fields.size() == 1 && axis.fields.front() == field;
  });
  ORCH_CHECK(found != axes.rend(), "every open field has a placeholder");
  return found->points.front().front();
}

void RunMaker::place(std::string_view field, std::int64_t number) { placeholder(field) = number; }

void RunMaker::set_base(std::uint64_t base, std::uint32_t shape) {
  for (std::size_t i = points_.size(); i-- > 0;) {
    const auto size = frame_.axes()[i]->points.size();
    points_[i] = base % size;
    base /= size;
  }
  if (part_.shapes.empty()) return;
  place("layers", part_.shapes[shape].layers);
  place("hidden", part_.shapes[shape].hidden);
  place("heads", part_.shapes[shape].heads);
}

void RunMaker::set_layout(std::int64_t tensor, std::int64_t pipeline, std::int64_t micro_batch) {
  if (part_.tensor_parallel) place("tensor_parallel", tensor);
  if (part_.pipeline_parallel) place("pipeline_parallel", pipeline);
  if (part_.micro_batch) place("micro_batch", micro_batch);
  resolver_.start(points_);
}

std::vector<SettingsBlock> RunMaker::blocks(std::uint64_t base, std::uint32_t shape) {
  const auto lock = lock_functions(space_, part_);
  std::vector<SettingsBlock> blocks;
  set_base(base, shape);
  set_layout(1, 1, 1);
  const auto gpus = resolver_.integer(Field::gpus), heads = resolver_.integer(Field::heads);
  const auto tensors =
      part_.tensor_parallel ? divisors(gpus) : one(resolver_.layout("tensor_parallel"));
  for (const auto tensor : tensors) {
    if (gpus % tensor != 0 || heads % tensor != 0) continue;
    set_layout(tensor, 1, 1);
    const auto pipelines = part_.pipeline_parallel ? divisors(gpus / tensor)
                                                   : one(resolver_.layout("pipeline_parallel"));
    for (const auto pipeline : pipelines) {
      if (gpus / tensor % pipeline != 0) continue;
      set_layout(tensor, pipeline, 1);
      if (pipeline > resolver_.integer(Field::layers)) continue;
      SettingsBlock block{0, base, index_, shape, tensor, pipeline, 1};
      add_batches(block, blocks);
    }
  }
  return blocks;
}

void RunMaker::add_batches(SettingsBlock block, std::vector<SettingsBlock>& blocks) {
  const auto copy =
      block.tensor_parallel * block.pipeline_parallel * resolver_.layout("context_parallel");
  if (resolver_.integer(Field::gpus) % copy != 0) return;
  const auto data = resolver_.integer(Field::gpus) / copy;
  if (part_.keeps_data_parallel && resolver_.integer(Field::data_parallel) != data) return;
  const bool fixed = frame_.given(Field::global_batch);
  const auto batch = fixed ? resolver_.integer(Field::global_batch) : 0;
  if (fixed && batch % data != 0) return;
  const auto micro_batches =
      part_.micro_batch ? divisors(batch / data) : one(resolver_.integer(Field::micro_batch));
  for (const auto micro_batch : micro_batches) {
    if (fixed && batch / data % micro_batch != 0) continue;
    if (fixed && part_.keeps_accumulate &&
        resolver_.integer(Field::accumulate) != batch / data / micro_batch)
      continue;
    block.micro_batch = micro_batch;
    blocks.push_back(block);
  }
}

void RunMaker::make_settings() {
  held_.resize(part_.settings.size());
  for (std::size_t i = 0; i < held_.size(); ++i) {
    auto& held = held_[i];
    const auto& setting = part_.settings[i];
    held.at = 0;
    if (held.setting && !setting.depends_on_layout) continue;  // unchanged since the last block
    held.setting = &setting;
    held.points = points_of(setting, run_);
  }
}

void RunMaker::resolve() {
  const auto lock = lock_functions(space_, part_);
  resolver_.start(points_);
  run_ = plan::make_run(frame_, resolver_);
  run_.settings.make_room();
  problems_ = resolver_.problems();
  if (!part_.shapes.empty())
    run_.model.name =
        shape_name(run_.model.family, {run_.model.layers, run_.model.hidden, run_.model.heads});
}

void RunMaker::apply(const BlockCursor& held) {
  const auto& point = held.points[held.at];
  const auto set = [&](int param, const Value& value) {
    const auto i = static_cast<std::size_t>(param);
    run_.settings.set(i, value);
    changed_.push_back(i);
  };
  changed_checked_ |= held.setting->is_checked;
  set(held.setting->param, point.front());
  for (std::size_t c = 0; c < held.setting->children.size(); ++c)
    set(held.setting->children[c], point[c + 1]);
}

std::uint64_t RunMaker::start(const SettingsBlock& block) {
  set_base(block.base, block.shape);
  set_layout(block.tensor_parallel, block.pipeline_parallel, block.micro_batch);
  resolve();
  broken_.reset();
  make_settings();
  seek(0);
  std::uint64_t size = 1;
  for (const auto& held : held_) size *= held.points.size();
  return size;
}

void RunMaker::seek(std::uint64_t inner) {
  inner_ = inner;
  for (std::size_t i = held_.size(); i-- > 0;) {
    held_[i].at = inner % held_[i].points.size();
    inner /= held_[i].points.size();
    apply(held_[i]);
  }
  if (part_.functions) {
    fill_placeholders();
    resolve();
  }
}

bool RunMaker::next() {
  ++inner_;
  changed_.clear();
  changed_checked_ = false;
  for (auto i = held_.size(); i-- > 0;) {
    auto& held = held_[i];
    const bool more = ++held.at < held.points.size();
    if (!more) held.at = 0;
    apply(held);
    if (!more) continue;
    if (part_.functions) {
      fill_placeholders();
      resolve();
    }
    return true;
  }
  return false;
}

void RunMaker::fill_placeholders() {
  const auto& params = frame_.strategy()->params;
  const auto fill = [&](int param) {
    const auto i = static_cast<std::size_t>(param);
    placeholder(params[i].name) = run_.settings[i];
  };
  for (const auto& held : held_) {
    fill(held.setting->param);
    for (const int child : held.setting->children) fill(child);
  }
}

bool RunMaker::asked_for_settings() const {
  const auto asked = [&](int param) { return resolver_.was_asked(plan::kFields + param); };
  return std::ranges::any_of(held_, [&](const BlockCursor& held) {
    return asked(held.setting->param) || std::ranges::any_of(held.setting->children, asked);
  });
}

// Constraints are functions of the fields that they ask for: where these are the same in the whole
// block, so is the answer.
void RunMaker::check_constraints(std::vector<Error>& reasons) {
  if (space_.experiment().constraints.empty()) return;
  std::vector<Error> broken;
  if (!broken_) {
    fill_placeholders();
    const std::lock_guard lock(space_.functions());
    resolver_.start(points_);
    plan::check_constraints(space_.experiment(), resolver_.as_lookup(), broken);
    if (!asked_for_settings()) broken_ = broken;
  }
  const auto& found = broken_ ? *broken_ : broken;
  reasons.insert(reasons.end(), found.begin(), found.end());
}

std::vector<std::unique_ptr<RunMaker>> makers_of(const SearchSpace& space) {
  std::vector<std::unique_ptr<RunMaker>> makers;
  for (std::uint32_t part = 0; part < space.parts().size(); ++part)
    makers.push_back(std::make_unique<RunMaker>(space, part));
  return makers;
}

bool SpaceCursor::next(SettingsBlock& block) {
  const std::lock_guard lock(mutex_);
  while (at_ == row_.size())
    if (!next_row()) return false;
  const auto position = at_++ * leap_ % row_.size();
  block = row_[position];
  block.ordinal = ordinal_ + position;
  return true;
}

bool SpaceCursor::next_row() {
  if (part_ >= makers_.size()) return false;
  auto& maker = *makers_[part_];
  ordinal_ += row_.size();
  row_ = maker.blocks(base_, shape_);
  at_ = 0;
  leap_ = leap(row_.size());
  if (++shape_ < maker.shapes()) return true;
  shape_ = 0;
  if (++base_ < maker.bases()) return true;
  base_ = 0;
  ++part_;
  return true;
}

}  // namespace orch::search
