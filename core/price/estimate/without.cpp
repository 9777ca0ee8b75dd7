#include "core/price/estimate/without.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "core/base/text.h"

namespace orch::estimate {
namespace {

using backend::Work;

// "optimizer states" for "optimizer states: layers".
std::string kind_of(std::string_view name) { return std::string(name.substr(0, name.find(": "))); }

void never(orch_op& op) { op.forward = op.recompute = op.backward = op.step = 0; }

void never(Work& work, std::uint32_t kind) {
  for (auto& op : work.ops)
    if (op.data.kind == kind) never(op.data);
}

// The same work with columns padded to whole tiles.
void fill_tiles(Work& work) {
  constexpr double kColumns = 4096;
  for (auto& op : work.ops)
    if (op.data.kind == ORCH_GEMM) op.data.m *= op.data.n / kColumns, op.data.n = kColumns;
}

void compute_once(Work& work) {
  work.recompute = ORCH_RECOMPUTE_NONE;
  for (auto& op : work.ops) op.data.recompute = 0;
}

// Replaces the counts of the blocks for which `which` is true by their average over the stages.
template <class Which>
void share_evenly(Work& work, Which which) {
  for (std::size_t b = 0; b < work.blocks.size(); ++b) {
    if (!which(b)) continue;
    double total = 0;
    for (const auto& range : work.stage_list)
      total +=
          work.counts[range.first_count + b] * static_cast<double>(range.last - range.first + 1);
    for (const auto& range : work.stage_list)
      work.counts[range.first_count + b] = total / static_cast<double>(work.stages);
  }
}

// Splits each block in two: operations per micro-batch stay, operations once per step move to a
// block of their own behind.
void part_by_phase(Work& work) {
  const auto blocks = work.blocks.size(), ops = work.ops.size();
  work.ops.reserve(2 * ops);
  for (std::size_t i = 0; i < ops; ++i) {
    auto& once = work.ops.emplace_back(work.ops[i]).data;
    once.forward = once.recompute = once.backward = 0;
    work.ops[i].data.step = 0;
  }
  for (std::size_t b = 0; b < blocks; ++b) {
    auto copy = work.blocks[b];
    copy.first_op += ops;
    work.blocks.push_back(std::move(copy));
  }
  std::vector<double> counts;
  for (auto& range : work.stage_list) {
    const auto begin = work.counts.begin() + static_cast<std::ptrdiff_t>(range.first_count);
    range.first_count = counts.size();
    for (int part = 0; part < 2; ++part)
      counts.insert(counts.end(), begin, begin + static_cast<std::ptrdiff_t>(blocks));
  }
  work.counts = std::move(counts);
}

void level_stages(Work& work) {
  const auto blocks = work.blocks.size();
  part_by_phase(work);
  share_evenly(work, [&](std::size_t b) { return b < blocks; });
}

}  // namespace

const std::vector<std::string>& LeftOutTerms::words() {
  static const std::vector<std::string> all{"alignment", "bubble",        "communication",
                                            "eras",      "memory-bound",  "partition",
                                            "recompute", "slowest stage", "tiles"};
  return all;
}

Result<LeftOutTerms> LeftOutTerms::from(const std::vector<std::string>& names,
                                        const std::set<std::string>& known) {
  std::vector<std::string> candidates = words();
  candidates.insert(candidates.end(), known.begin(), known.end());
  LeftOutTerms without;
  Errors errors;
  for (const auto& name : names) {
    const auto wanted = lower(trim(name));
    const bool there = std::any_of(candidates.begin(), candidates.end(), [&](const auto& one) {
      return lower(trim(one)) == wanted || lower(kind_of(one)) == wanted;
    });
    if (there)
      without.names_.insert(wanted);
    else
      errors.push_back({"--without",
                        fmt::format("no '{}' in the work of these rows", printable(name)),
                        suggestion(name, candidates)});
  }
  if (!errors.empty()) return errors;
  return without;
}

bool LeftOutTerms::names(std::string_view name) const {
  return has(lower(trim(name))) || has(lower(kind_of(name)));
}

void LeftOutTerms::apply(Work& work) const {
  for (const auto& block : work.blocks)
    for (std::size_t i = block.first_op; i < block.first_op + block.n_ops; ++i)
      if (names(block.name) || names(work.ops[i].name)) never(work.ops[i].data);
  std::erase_if(work.memory, [&](const backend::Memory& item) { return names(item.name); });
  if (has("alignment"))
    for (auto& op : work.ops) op.data.align = 8;
  if (has("tiles")) fill_tiles(work);
  if (has("recompute")) compute_once(work);
  if (has("memory-bound")) never(work, ORCH_MEMORY);
  if (has("communication")) never(work, ORCH_COLLECTIVE);
  if (has("partition"))
    share_evenly(work, [&](std::size_t b) { return work.blocks[b].name == "layer"; });
  if (has("slowest stage")) level_stages(work);
  // With infinitely many interleaved chunks, a pipe takes no time to fill.
  if (has("bubble")) work.chunks = std::numeric_limits<std::int64_t>::max();
}

void add_names(const Work& work, std::set<std::string>& names) {
  for (const auto& block : work.blocks) names.emplace(block.name);
  for (const auto& op : work.ops) names.emplace(op.name);
  for (const auto& item : work.memory) names.insert(kind_of(item.name));
}

}  // namespace orch::estimate
