#include "core/app/judge_rows.h"

#include <fmt/format.h>

#include "core/base/text.h"
#include "core/base/units.h"
#include "core/app/rows.h"
#include "core/app/run_records.h"
#include "core/record/published/doubts.h"
#include "core/record/published/fields.h"
#include "core/record/published/machine.h"
#include "core/record/published/samples.h"

namespace orch::app {
namespace {

std::string words(const Errors& errors) {
  std::vector<std::string> parts;
  for (const auto& error : errors)
    parts.push_back((error.place.empty() ? "" : error.place + ": ") + error.fact +
                    (error.fix.empty() ? "" : " (" + error.fix + ")"));
  return join(parts, "; ");
}

// A machine has eras; a table's rows are held against the machine as it was on their days.
double era_of(const published::Sample& sample) {
  return sample.run.partition->era(sample.date);
}

// Fields that the row leaves open are in the estimate as somebody has to take them.
void note_assumed(const published::Sample& sample, record::Record& record) {
  if (sample.assumed.empty()) return;
  if (!record.notes.empty()) record.notes += "; ";
  record.notes += "taken for the estimate: " + join(sample.assumed, "; ");
}

// Where people looked at the first stage, that is what the estimate is held against.
void of_first_stage(const plan::Estimate& estimate, record::Estimated& out) {
  const double share = estimate.first_stage_memory / estimate.peak_memory;
  out.peak_memory_bytes *= share;
  out.memory_low *= share;
  out.memory_high *= share;
}

void add_estimate(App& app, const Result<published::Sample>& sample, record::Record& record) {
  if (!sample) {
    record.not_estimated = words(sample.error());
    return;
  }
  const auto planned = app.explain(sample->run);
  if (!planned) {
    record.not_estimated = words(planned.error());
    return;
  }
  record.estimated = record::estimated_of(planned->estimate, era_of(*sample));
  if (sample->first_stage) of_first_stage(planned->estimate, *record.estimated);
  record.origin.cluster_file = sample->run.cluster->file;
  // Nobody said how long they would train: 100B tokens are only a measure.
  record.estimated->gpu_hours = record.estimated->days_to_train = 0;
  if (!record.measured.step_seconds && sample->step_seconds)
    record.measured.step_seconds = statistics::Interval{*sample->step_seconds, {}, {}, 1};
  note_assumed(*sample, record);
}

// A framework's own convention is its secret, but none is so far from ours: with or without
// recomputation, embeddings and attention, a step's FLOPs differ by half at most.
void doubt_printed(record::Record& record) {
  constexpr double kFurthest = 1.5;
  const auto& tflops = record.measured.tflops;
  for (const auto& printed : tflops)
    for (const auto& ours : tflops) {
      if (printed.convention != "log" || !ours.computed) continue;
      const double ratio = printed.value / ours.value;
      if (ratio > 1 / kFurthest && ratio < kFurthest) continue;
      record.doubts.push_back(
          {"tflops", "tflops_per_gpu",
           fmt::format(
               "the log prints {:.4g} TFLOPs per GPU, {:.4g} follow from the time of a step, "
               "the model, the batch and the GPUs that it names ({})",
               printed.value, ours.value, ours.convention)});
    }
}

// What whoever wrote the table already says of a row.
void doubt_marked(const published::Row& row, record::Record& record) {
  if (row.suspect.value_or(false))
    record.doubts.push_back({"suspect", "days_per_100b_tokens", "its table marks the row as suspect"});
  if (!row.dup_of.empty())
    record.doubts.push_back(
        {"copy", "id", "its table says that it is " + printable(row.dup_of) + ", printed again"});
}

published::FindGpu gpu_finder(App& app) {
  const auto catalog = hardware::load_gpus(app.places().gpus());
  return [gpus = catalog ? *catalog : hardware::GpuCatalog()](
             const published::Row& row) -> std::optional<published::GpuFacts> {
    const auto found = gpus.find(published::plain_gpu(row.gpu));
    if (found == gpus.end()) return std::nullopt;
    const auto& gpu = found->second.gpu;
    const auto peak = std::max(gpu.peak("fp16").value, gpu.peak("bf16").value);
    return published::GpuFacts{peak / 1e12, gpu.memory.value / kGiB};
  };
}

}  // namespace

void judge_rows(App& app, const std::vector<published::Row>& rows, const std::string& cluster,
                std::vector<record::Record>& records) {
  const auto runs = published::to_runs(rows, machines(app, cluster), app.backends().strategies(),
                                      check_backend(app));
  const auto doubts = published::doubts(rows, gpu_finder(app));
  for (std::size_t i = 0; i < rows.size(); ++i) {
    add_estimate(app, runs[i], records[i]);
    published::add_tflops(rows[i], records[i]);
    doubt_printed(records[i]);
    doubt_marked(rows[i], records[i]);
    records[i].doubts.insert(records[i].doubts.end(), doubts[i].begin(), doubts[i].end());
  }
}

}  // namespace orch::app
