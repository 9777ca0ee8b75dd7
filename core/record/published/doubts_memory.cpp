#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/record/published/doubts_checks.h"
#include "core/record/published/said.h"
#include "core/record/statistics/interval.h"

namespace orch::published {
namespace {

using record::Record;

constexpr double kRoom = 0.85;        // of a GPU's memory: what used less should fit
constexpr double kLessMemory = 0.95;  // besides 1 GB of rounding
constexpr double kSameSize = 1.15, kSameMemory = 0.1;

double size(const Record& row) {
  return row.field_number("layers").value_or(0) *
         std::pow(row.field_number("hidden").value_or(0), 2);
}

bool same_size(const Record& a, const Record& b) {
  const double ratio = size(a) / size(b);
  return ratio > 1 / kSameSize && ratio < kSameSize;
}

// The rows that take what models of about their size take with the same layout and micro-batch.
std::vector<bool> usual_ones(const Inquiry& inquiry) {
  std::vector<bool> out(inquiry.rows.size());
  for (const auto& set : alike(inquiry, {"layers", "hidden", "heads", "params_b"}))
    for (const auto i : set) {
      const auto& row = inquiry.rows[i];
      std::vector<double> others;
      for (const auto k : set)
        if (k != i && memory_gib(inquiry.rows[k]) && same_size(inquiry.rows[k], row))
          others.push_back(*memory_gib(inquiry.rows[k]));
      out[i] = memory_gib(row) && !others.empty() &&
               std::abs(*memory_gib(row) / statistics::median(std::move(others)) - 1) < kSameMemory;
    }
  return out;
}

// Which of two rows that contradict each other: the one that contradicts itself too, or else the
// one that is unlike rows of its kind while the other is not. Nothing: it may be either.
std::optional<std::size_t> wrong_one(const Inquiry& inquiry, const std::vector<bool>& usual,
                                     std::size_t a, std::size_t b) {
  const bool a_doubted = inquiry.has(a, "memory"), b_doubted = inquiry.has(b, "memory");
  if (a_doubted != b_doubted) return a_doubted ? a : b;
  if (usual[a] != usual[b]) return usual[a] ? b : a;
  return std::nullopt;
}

bool falls(const Record& small, const Record& large) {
  const auto less = memory_gib(large), more = memory_gib(small);
  const auto from = small.whole("micro_batch"), to = large.whole("micro_batch");
  return less && more && from && to && *from < *to && *less + 1 < kLessMemory * *more;
}

void add_falling(Inquiry& inquiry, std::size_t i, std::size_t other) {
  const auto &row = inquiry.rows[i], &beside = inquiry.rows[other];
  inquiry.add(i, "memory", "peak_memory, micro_batch",
              fmt::format("{:g} GB with micro-batch {}, {:g} GB with {} ({}): memory does not fall "
                          "where the micro-batch grows",
                          *memory_gib(row), *row.whole("micro_batch"), *memory_gib(beside),
                          *beside.whole("micro_batch"), inquiry.name(other)));
}

void doubt_oom_of_less(Inquiry& inquiry, std::size_t failed, std::size_t other) {
  const auto micro = inquiry.rows[failed].whole("micro_batch");
  const auto larger = inquiry.rows[other].whole("micro_batch");
  if (!micro || !larger || *micro > *larger) return;
  inquiry.add(failed, "memory", "status, micro_batch",
              fmt::format("ran out of memory with micro-batch {}, where {} ran with {}", *micro,
                          inquiry.name(other), *larger));
}

void doubt_oom_of_smaller_gpu(Inquiry& inquiry, std::size_t failed, std::size_t other) {
  const auto used = memory_gib(inquiry.rows[other]);
  const auto &small = inquiry.gpus[failed], &large = inquiry.gpus[other];
  if (!used || !small || !large) return;
  if (small->memory_gib >= large->memory_gib || *used > kRoom * small->memory_gib) return;
  inquiry.add(failed, "memory", "status",
              fmt::format("ran out of {:g} GB, where {} used {:g} GB of {:g}", small->memory_gib,
                          inquiry.name(other), *used, large->memory_gib));
  inquiry.add(other, "memory", "peak_memory",
              fmt::format("{:g} GB, where {} ran out of {:g} GB: is it the fullest GPU's peak?",
                          *used, inquiry.name(failed), small->memory_gib));
}

void doubt_oom_of_more_gpus(Inquiry& inquiry, std::size_t failed, std::size_t other) {
  const auto &a = inquiry.rows[failed], &b = inquiry.rows[other];
  const auto more = *a.whole("gpus"), fewer = *b.whole("gpus");
  if (more <= fewer || a.whole("micro_batch") != b.whole("micro_batch")) return;
  inquiry.add(failed, "scaling", "status, gpus",
              fmt::format("ran out of memory on {} GPUs, where {} ran on {}: more data-parallel "
                          "ranks leave each no more to hold",
                          more, inquiry.name(other), fewer));
}

void each_pair(const Inquiry& inquiry, const std::vector<std::string>& but_for, const auto& check) {
  for (const auto& set : alike(inquiry, but_for))
    for (const auto a : set)
      for (const auto b : set)
        if (a != b) check(a, b);
}

}  // namespace

void doubt_peer_memory(Inquiry& inquiry) {
  const auto usual = usual_ones(inquiry);
  each_pair(inquiry, kBatch, [&](std::size_t small, std::size_t large) {
    if (!falls(inquiry.rows[small], inquiry.rows[large])) return;
    const auto wrong = wrong_one(inquiry, usual, small, large);
    if (wrong != large) add_falling(inquiry, small, large);
    if (wrong != small) add_falling(inquiry, large, small);
  });
  const auto with = [&](auto check) {
    return [&inquiry, check](std::size_t failed, std::size_t other) {
      if (status_of(inquiry.rows[failed]) == "oom" && status_of(inquiry.rows[other]) == "ok")
        check(inquiry, failed, other);
    };
  };
  each_pair(inquiry, kBatch, with(doubt_oom_of_less));
  each_pair(inquiry, {"gpu"}, with(doubt_oom_of_smaller_gpu));
  each_pair(inquiry, {"gpus", "nodes", "gpus_per_node", "dp", "gas", "gbs"},
            with(doubt_oom_of_more_gpus));
}

}  // namespace orch::published
