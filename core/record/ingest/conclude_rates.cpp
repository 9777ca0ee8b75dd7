#include <fmt/format.h>

#include <cmath>

#include "core/record/ingest/conclude.h"

namespace orch::ingest {
namespace {

using record::Record;
using WordList = std::vector<std::string>;

constexpr double kNear = 0.02;  // relative error of rounded rates and of times between lines

// The count that is closest to a quotient of rounded numbers; nothing if it is ambiguous.
std::optional<std::int64_t> near_count(double value) {
  const double count = std::round(value);
  if (!(count >= 1) || count > kMostCount) return std::nullopt;
  const bool sure = std::abs(value - count) <= std::min(kNear * count, 0.25);
  return sure ? std::optional(static_cast<std::int64_t>(count)) : std::nullopt;
}

// The same for GPUs. A large number of GPUs is usually a multiple of eight or four per node, so the
// nearest multiple is tried if the nearest count is ambiguous.
std::optional<std::int64_t> near_gpus(double value) {
  if (const auto count = near_count(value)) return count;
  for (const double node : {8.0, 4.0}) {
    const double count = std::round(value / node) * node;
    const bool sure = count >= node && std::abs(value - count) <= std::min(0.01 * count, node / 4);
    if (sure && count <= kMostCount) return static_cast<std::int64_t>(count);
  }
  return std::nullopt;
}

// The tokens per step from a setting or a counter.
std::optional<double> told_tokens(const LoggedRun& run, const Record& record) {
  if (const auto said = run.settings.number(IngestTarget::batch_tokens); said && *said >= 1)
    return said;
  const double each = run.tokens.each() * lines_of_step(run, record);
  return each >= 1 ? std::optional(each) : std::nullopt;
}

void find_batch(const LoggedRun& run, Record& record, WordList& words) {
  if (!record.field("global_batch"))
    if (const auto batch = whole_count(run.samples.each() * lines_of_step(run, record))) {
      record.set("global_batch", *batch);
      words.push_back(fmt::format("global_batch {} by the samples counted", *batch));
    }
  const auto tokens = told_tokens(run, record);
  const auto whole = tokens ? whole_count(*tokens) : std::nullopt;
  const auto batch = record.whole("global_batch"), seq = record.whole("seq");
  if (!whole) return;
  if (!batch && seq && *whole % *seq == 0) {
    record.set("global_batch", *whole / *seq);
  } else if (batch && !seq && *whole % *batch == 0) {
    record.set("seq", *whole / *batch);
    words.push_back(fmt::format("seq {} by the tokens of a step", *whole / *batch));
  }
}

// Computes the number of GPUs from a total rate and the same rate per GPU.
void find_gpus(const LoggedRun& run, Record& record, WordList& words) {
  const auto by = [&](const SampleReservoir& all, const SampleReservoir& of_gpu, const char* what) {
    if (record.field("gpus") || all.empty() || of_gpu.empty() || !(of_gpu.median() > 0)) return;
    const auto gpus = near_gpus(all.median() / of_gpu.median());
    if (!gpus) return;
    record.set("gpus", *gpus);
    words.push_back(fmt::format("gpus {} by {} per second, in all and of one", *gpus, what));
  };
  by(run.tokens_per_second, run.tokens_per_second_per_gpu, "tokens");
  by(run.samples_per_second, run.samples_per_second_per_gpu, "samples");
}

}  // namespace

std::optional<std::int64_t> whole_count(double value) {
  if (!(value >= 1) || value > kMostCount || value != std::floor(value)) return std::nullopt;
  return static_cast<std::int64_t>(value);
}

double lines_of_step(const LoggedRun& run, const Record& record) {
  return run.counts_micro_batches ? record.field_number("accumulate").value_or(1) : 1;
}

std::optional<double> batch_tokens(const LoggedRun& run, const Record& record) {
  const auto batch = record.field_number("global_batch"), seq = record.field_number("seq");
  return batch && seq ? *batch * *seq : told_tokens(run, record);
}

std::vector<std::string> complete_from_counters(const LoggedRun& run, Record& record) {
  WordList words;
  find_batch(run, record, words);
  find_gpus(run, record, words);
  complete_counts(run, record);
  return words;
}

std::vector<std::string> complete_from_time(const LoggedRun& run, Record& record) {
  WordList words;
  if (!record.measured.step_seconds) return words;
  const double seconds = record.measured.step_seconds->value;
  const auto tokens = batch_tokens(run, record);
  // If the number of GPUs is unknown, the time was not computed from this rate.
  if (!record.field("gpus") && tokens && !run.tokens_per_second_per_gpu.empty())
    if (const auto gpus = near_gpus(*tokens / seconds / run.tokens_per_second_per_gpu.median())) {
      record.set("gpus", *gpus);
      words.push_back(fmt::format("gpus {} by tokens per second of one GPU", *gpus));
    }
  // Samples per second times the time of a step is the batch, if that is a multiple of the
  // micro-batch.
  const auto share =
      record.whole("micro_batch").value_or(0) * record.whole("accumulate").value_or(1);
  if (!record.field("global_batch") && share > 0 && !run.samples_per_second.empty() &&
      run.work == TimedWork::sample)
    if (const auto ranks =
            near_count(run.samples_per_second.median() * seconds / static_cast<double>(share))) {
      record.set("global_batch", share * *ranks);
      words.push_back(
          fmt::format("global_batch {} by samples per second and the dates", share * *ranks));
    }
  complete_counts(run, record);
  return words;
}

// Computes the rates from the batch if it is known, because logs round rates; otherwise the rates
// in the log are used.
void fill_rates(const LoggedRun& run, Record& record) {
  auto& out = record.measured;
  const auto counts = [&window = out.window](std::int64_t step) {
    return window.used == 0 || (step >= window.first && step <= window.last);
  };
  const auto batch = record.field_number("global_batch"), gpus = record.field_number("gpus");
  const auto tokens = batch_tokens(run, record);
  const bool exact = (batch && record.field("seq")) || run.settings.has(IngestTarget::batch_tokens);
  const auto& all = run.tokens_per_second;
  const auto& of_gpu = run.tokens_per_second_per_gpu;
  double rate = 0;
  if (out.step_seconds && tokens && (exact || (all.empty() && of_gpu.empty())))
    rate = *tokens / out.step_seconds->value;
  else if (!all.empty())
    rate = all.median(counts);
  else if (!of_gpu.empty() && gpus)
    rate = of_gpu.median(counts) * *gpus;
  else if (const auto of_device = total(run, IngestTarget::train_tokens_per_second);
           of_device && gpus)
    rate = *of_device * *gpus;
  if (rate > 0 && std::isfinite(rate)) out.tokens_per_second = rate;
  if (batch && out.step_seconds && out.step_seconds->value > 0)
    out.samples_per_second = *batch / out.step_seconds->value;
  else if (!run.samples_per_second.empty())
    out.samples_per_second = run.samples_per_second.median();
}

}  // namespace orch::ingest
