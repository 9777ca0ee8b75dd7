#include <fmt/format.h>

#include "core/base/text.h"
#include "core/base/units.h"
#include "core/app/rows.h"
#include "core/record/planned.h"
#include "core/record/published/said.h"
#include "core/record/published/doubts.h"
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

// Fields that the row leaves open are in the estimate as somebody has to take them.
void note_assumed(const published::Sample& sample, record::Record& record) {
  if (sample.assumed.empty()) return;
  if (!record.notes.empty()) record.notes += "; ";
  record.notes += "taken for the estimate: " + join(sample.assumed, "; ");
}

// Where people looked at the first stage, that is what the estimate is held against.
void of_first_stage(plan::Estimate& out) {
  const double share = out.first_stage_memory / out.peak_memory;
  out.peak_memory *= share;
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
  // A machine has eras; a table's rows are held against the machine as it was on their days.
  const double era = sample->run.partition->era(sample->date);
  record.estimated = record::estimated_of(planned->estimate, era);
  if (sample->first_stage) of_first_stage(*record.estimated);
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

double peak_tflops(const plan::Gpu& gpu) {
  return std::max(gpu.peak("fp16").value, gpu.peak("bf16").value) / 1e12;
}

// Where no GPU is named, the fastest that is known: none did more.
published::FindGpu gpu_finder(App& app) {
  const auto catalog = hardware::load_gpus(app.places().gpus());
  const auto gpus = catalog ? *catalog : hardware::GpuCatalog();
  double fastest = 0;
  for (const auto& [other, entry] : gpus) fastest = std::max(fastest, peak_tflops(entry.gpu));
  return [gpus, fastest](const record::Record& said) -> std::optional<published::GpuFacts> {
    const auto name = said.field_text("gpu");
    if (name.empty() && fastest > 0) return published::GpuFacts{fastest, 0};
    const auto found = gpus.find(published::plain_gpu(name));
    if (found == gpus.end()) return std::nullopt;
    const auto& gpu = found->second.gpu;
    return published::GpuFacts{peak_tflops(gpu), gpu.memory.value / kGiB};
  };
}

}  // namespace

std::vector<record::Record> judged(App& app, const std::vector<record::Record>& said,
                                   const std::string& cluster) {
  const auto runs = published::to_runs(said, machines(app, cluster), app.backends().strategies(),
                                       check_backend(app));
  const auto doubts = published::doubts(said, gpu_finder(app));
  auto out = said;
  for (std::size_t i = 0; i < out.size(); ++i) {
    auto& record = out[i];
    published::complete(record);
    add_estimate(app, runs[i], record);
    published::add_tflops(record);
    doubt_printed(record);
    record.doubts.insert(record.doubts.end(), doubts[i].begin(), doubts[i].end());
  }
  return out;
}

}  // namespace orch::app
