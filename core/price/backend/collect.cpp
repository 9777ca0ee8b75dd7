#include "core/price/backend/collect.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <string_view>

#include "core/base/text.h"
#include "core/plan/number_format.h"

namespace orch::backend {
namespace {

constexpr double kLargest = std::numeric_limits<double>::max();
// Far beyond any run, and far below what would exhaust memory.
constexpr std::int64_t kMostStages = 1'000'000, kMostTimes = 1'000'000'000'000;
constexpr std::size_t kMostItems =
    1'000'000;  // blocks, operations, ranges of stages, items of memory

std::string copied(const char* text) { return text ? printable(text) : std::string(); }

// False for negative, infinite and NaN values.
bool is_amount(double number) { return number >= 0 && number <= kLargest; }

// Copies a struct of an older or newer minor version: the fields that both know, the rest zero.
// Copying a size known to the compiler, the usual case, is several times faster.
template <class T>
void copy_known_part(const T* from, T& to) {
  if (from->struct_size == sizeof to)
    to = *from;
  else
    std::memcpy(&to, from, std::min<std::size_t>(from->struct_size, sizeof to));
}

template <class T>
T known_part(const T* from) {
  T to{};
  copy_known_part(from, to);
  return to;
}

Collector& collector(void* context) { return *static_cast<Collector*>(context); }

// Checks a struct that contains its own size: that it exists and its size is plausible.
template <class T>
bool is_given(const T* from, const char* what, Collector& self) {
  if (from && from->struct_size >= 2 * sizeof(std::uint32_t)) return true;
  self.flawed(fmt::format("{} of {} bytes", what, from ? from->struct_size : 0));
  return false;
}

// Reports an overflow only once.
template <class List>
bool has_room(const List& list, const char* what, Collector& self) {
  if (list.size() < kMostItems) return true;
  if (!self.is_full) self.flawed(fmt::format("more than {} {}", kMostItems, what));
  self.is_full = true;
  return false;
}

void count(bool warning, const char* field, ProblemTally& tally) {
  auto& number = warning ? tally.warnings : tally.reasons;
  if (number++ > 0) return;
  auto& first = warning ? tally.warning : tally.reason;
  if (const char* name = field ? field : ""; first != name) first = name;
}

void on_problem(void* context, std::uint32_t severity, const char* field, const char* fact,
                const char* fix) {
  auto& self = collector(context);
  if (self.tally) return count(severity == ORCH_WARN, field, *self.tally);
  auto* list = severity == ORCH_WARN ? self.warnings : self.reasons;
  if (list) list->push_back({copied(field), copied(fact), copied(fix)});
}

void on_schedule(void* context, const orch_schedule* from) {
  auto& self = collector(context);
  if (!self.work || !is_given(from, "a schedule", self)) return;
  const auto schedule = known_part(from);
  self.work->stages = schedule.stages;
  self.work->micro_batches = schedule.micro_batches;
  self.work->chunks = schedule.chunks;
  self.work->filled = schedule.filled != 0;
  self.work->recompute = schedule.recompute;
  if (schedule.dtype && plan::bits_of(schedule.dtype) == 0)
    self.flawed(fmt::format("a schedule in '{}', which is not a number format such as bf16 or fp8",
                            copied(schedule.dtype)));
  else if (schedule.dtype)
    self.work->dtype = schedule.dtype;
  if (schedule.stages < 1 || schedule.micro_batches < 1 || schedule.chunks < 1 ||
      schedule.stages > kMostStages || schedule.micro_batches > kMostTimes ||
      schedule.chunks > kMostStages)
    self.flawed(fmt::format("a schedule of {} stages, {} micro-batches and {} chunks",
                            schedule.stages, schedule.micro_batches, schedule.chunks));
}

void on_block(void* context, const char* name) {
  auto& self = collector(context);
  if (!self.work || !has_room(self.work->blocks, "blocks", self)) return;
  auto& block = self.work->blocks.emplace_back();
  block.first_op = self.work->ops.size();
  if (self.explained != WorkTexts::none) block.name = self.work->keep(copied(name));
}

// All amounts are valid if none is negative and their sum is finite: an infinite or NaN amount
// makes the sum so. One test of the sum is faster than a branch for each.
bool makes_sense(const orch_op& op) {
  const double flops = 2 * op.m * op.n * op.k * op.batch;
  const auto none_negative = [](auto... numbers) { return (true & ... & (numbers >= 0)); };
  const double sum =
      op.forward + op.recompute + op.backward + op.step + flops + op.bytes + op.calls;
  return none_negative(op.forward, op.recompute, op.backward, op.step, flops, op.bytes, op.calls,
                       op.group_size, op.group_stride) &&
         is_amount(sum) && op.kind <= ORCH_STAGE_OVERHEAD && op.collective <= ORCH_SEND &&
         op.kernel <= ORCH_CROSS_ENTROPY;
}

void on_op(void* context, const orch_op* from) {
  auto& self = collector(context);
  if (!self.work || !is_given(from, "an operation", self) ||
      !has_room(self.work->ops, "operations", self))
    return;
  if (self.work->blocks.empty()) return self.flawed("an operation before any block");
  // In one piece if both know the same fields, the usual case.
  const bool same = from->struct_size == sizeof(orch_op);
  auto& op =
      same ? self.work->ops.emplace_back(*from) : self.work->ops.emplace_back(known_part(from));
  ++self.work->blocks.back().n_ops;
  if (!makes_sense(same ? *from : op.data))
    self.flawed(fmt::format("the operation '{}' has invalid amounts", copied(op.data.name)));
  if (self.explained != WorkTexts::none) op.name = self.work->keep(copied(op.data.name));
  if (self.explained == WorkTexts::formulas) op.formula = self.work->keep(copied(op.data.formula));
  op.data.name = op.data.formula = nullptr;
}

void on_stages(void* context, const orch_stages* from) {
  auto& self = collector(context);
  if (!self.work || !is_given(from, "stages", self) ||
      !has_room(self.work->stage_list, "ranges of stages", self))
    return;
  const auto stages = known_part(from);
  if (stages.n_counts != self.work->blocks.size() || (stages.n_counts > 0 && !stages.counts))
    return self.flawed(fmt::format("stages {} to {} count {} blocks of {}", stages.first,
                                   stages.last, stages.n_counts, self.work->blocks.size()));
  self.work->stage_list.push_back({stages.first, stages.last, self.work->counts.size()});
  self.work->counts.insert(self.work->counts.end(), stages.counts, stages.counts + stages.n_counts);
}

void on_memory(void* context, const orch_memory* from) {
  auto& self = collector(context);
  if (!self.work || self.knows_memory || !is_given(from, "an item of memory", self) ||
      !has_room(self.work->memory, "items of memory", self))
    return;
  orch_memory older;
  const auto& item = from->struct_size == sizeof older ? *from : (older = known_part(from));
  if (!is_amount(item.bytes) || item.place > ORCH_SETTLED || item.first < 0 ||
      item.last < item.first)
    return self.flawed(fmt::format("the memory '{}' of stages {} to {} has {} bytes",
                                   copied(item.name), item.first, item.last, item.bytes));
  auto& memory = self.work->memory.emplace_back();
  memory.place = item.place, memory.bytes = item.bytes;
  memory.first = item.first, memory.last = item.last;
  if (self.explained != WorkTexts::none) memory.name = self.work->keep(copied(item.name));
  if (self.explained == WorkTexts::formulas) memory.formula = self.work->keep(copied(item.formula));
}

}  // namespace

void Work::clear() {
  stages = micro_batches = chunks = 1;
  filled = false;
  recompute = ORCH_RECOMPUTE_NONE;
  dtype = "bf16";
  clear_time();
  memory.clear();
  texts.reset();
}

void Work::clear_time() {
  blocks.clear();
  ops.clear();
  stage_list.clear();
  counts.clear();
}

std::string_view Work::keep(std::string text) {
  if (!texts) texts = std::make_shared<std::deque<std::string>>();
  return texts->emplace_back(std::move(text));
}

orch_sink Collector::sink() {
  const bool formulas = explained == WorkTexts::formulas;
  const auto words = static_cast<std::uint32_t>(tally          ? +ORCH_QUIET
                                                : knows_memory ? +ORCH_TIME
                                                : formulas     ? +ORCH_EXPLAIN
                                                               : 0);
  return {sizeof(orch_sink), words, this,      on_problem, on_schedule,
          on_block,          on_op, on_stages, on_memory};
}

void Collector::flawed(std::string fact) {
  if (tally) ++tally->reasons;
  if (reasons) reasons->push_back({"backend", std::move(fact), "report this to its authors"});
}

void Collector::finish() {
  std::int64_t next = 0;  // ranges of stages must follow each other without gaps
  std::size_t seen = 0;
  for (const auto& range : work->stage_list) {
    if (range.first != next || range.last < range.first || range.last >= work->stages) break;
    next = range.last + 1;
    ++seen;
  }
  if (next != work->stages)
    flawed(fmt::format("the work of stage {} of {} is missing", next, work->stages));
  else if (seen != work->stage_list.size())
    flawed(fmt::format("stages {} to {} are given twice, or are not among {}",
                       work->stage_list[seen].first, work->stage_list[seen].last, work->stages));
  if (work->counts.size() != work->stage_list.size() * work->blocks.size())
    flawed("a block comes after the stages that count it");
  finish_memory();
  for (const double count : work->counts)
    if (!is_amount(count)) return flawed("a block is counted an invalid number of times");
}

void Collector::finish_memory() {
  for (const auto& item : work->memory)
    if (item.last >= work->stages)
      return flawed(fmt::format("an item of memory is of stages {} to {}, and there are {}",
                                item.first, item.last, work->stages));
}

}  // namespace orch::backend
