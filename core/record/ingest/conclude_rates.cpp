#include <fmt/format.h>

#include <cmath>

#include "core/record/ingest/conclude.h"

namespace orch::ingest {
namespace {

using published::Row;
using Words = std::vector<std::string>;

constexpr double kMost = 1e9;
constexpr double kNear = 0.02;  // of a rate that a log rounds, and of the time between two lines

// A count that a quotient of rounded numbers stands for; nothing: several may be meant.
std::optional<std::int64_t> near_count(double value) {
  const double count = std::round(value);
  if (!(count >= 1) || count > kMost) return std::nullopt;
  const bool sure = std::abs(value - count) <= std::min(kNear * count, 0.25);
  return sure ? std::optional(static_cast<std::int64_t>(count)) : std::nullopt;
}

// The same of GPUs: many of them come in whole nodes of eight or four, which is surer than a digit.
std::optional<std::int64_t> near_gpus(double value) {
  if (const auto count = near_count(value)) return count;
  for (const double node : {8.0, 4.0}) {
    const double count = std::round(value / node) * node;
    const bool sure = count >= node && std::abs(value - count) <= std::min(0.01 * count, node / 4);
    if (sure && count <= kMost) return static_cast<std::int64_t>(count);
  }
  return std::nullopt;
}

std::optional<std::int64_t> whole_count(double value) {
  if (!(value >= 1) || value > kMost || value != std::floor(value)) return std::nullopt;
  return static_cast<std::int64_t>(value);
}

// What is told of a step in tokens: as a setting, or by a counter.
std::optional<double> told_tokens(const Run& run, const Row& row) {
  if (const auto said = run.settings.number(Target::batch_tokens); said && *said >= 1) return said;
  const double each = run.tokens.each() * lines_of_step(run, row);
  return each >= 1 ? std::optional(each) : std::nullopt;
}

void find_batch(const Run& run, Row& row, Words& words) {
  if (!row.gbs)
    if ((row.gbs = whole_count(run.samples.each() * lines_of_step(run, row))))
      words.push_back(fmt::format("global_batch {} by the samples counted", *row.gbs));
  const auto tokens = told_tokens(run, row);
  const auto whole = tokens ? whole_count(*tokens) : std::nullopt;
  if (!whole) return;
  if (!row.gbs && row.seq && *whole % *row.seq == 0) {
    row.gbs = *whole / *row.seq;
  } else if (row.gbs && !row.seq && *whole % *row.gbs == 0) {
    row.seq = *whole / *row.gbs;
    words.push_back(fmt::format("seq {} by the tokens of a step", *row.seq));
  }
}

// A rate of all GPUs beside one of a GPU.
void find_gpus(const Run& run, Row& row, Words& words) {
  if (row.gpus) return;
  const auto by = [&](const Sample& all, const Sample& of_gpu, const char* what) {
    if (row.gpus || all.empty() || of_gpu.empty() || !(of_gpu.median() > 0)) return;
    row.gpus = near_gpus(all.median() / of_gpu.median());
    if (row.gpus)
      words.push_back(fmt::format("gpus {} by {} per second, in all and of one", *row.gpus, what));
  };
  by(run.tokens_per_second, run.tokens_per_second_per_gpu, "tokens");
  by(run.samples_per_second, run.samples_per_second_per_gpu, "samples");
}

}  // namespace

double lines_of_step(const Run& run, const Row& row) {
  return run.counts_micro_batches ? static_cast<double>(row.gas.value_or(1)) : 1;
}

std::optional<double> batch_tokens(const Run& run, const Row& row) {
  if (row.gbs && row.seq) return static_cast<double>(*row.gbs) * static_cast<double>(*row.seq);
  return told_tokens(run, row);
}

std::vector<std::string> complete_from_counters(const Run& run, Row& row) {
  Words words;
  find_batch(run, row, words);
  find_gpus(run, row, words);
  complete_row(run, row);
  return words;
}

std::vector<std::string> complete_from_time(const Run& run, const record::Measurement& measured,
                                            Row& row) {
  Words words;
  if (!measured.step_seconds) return words;
  const double seconds = measured.step_seconds->value;
  const auto tokens = batch_tokens(run, row);
  // Without the GPUs the time is not from this rate.
  if (!row.gpus && tokens && !run.tokens_per_second_per_gpu.empty())
    if ((row.gpus = near_gpus(*tokens / seconds / run.tokens_per_second_per_gpu.median())))
      words.push_back(fmt::format("gpus {} by tokens per second of one GPU", *row.gpus));
  // Samples per second and the time of a step give the batch, where it is whole micro-batches.
  const auto share = row.mbs ? static_cast<double>(*row.mbs * row.gas.value_or(1)) : 0;
  if (!row.gbs && share > 0 && !run.samples_per_second.empty() && run.work == Work::sample)
    if (const auto ranks = near_count(run.samples_per_second.median() * seconds / share)) {
      row.gbs = static_cast<std::int64_t>(share) * *ranks;
      words.push_back(fmt::format("global_batch {} by samples per second and the dates", *row.gbs));
    }
  complete_row(run, row);
  return words;
}

}  // namespace orch::ingest
