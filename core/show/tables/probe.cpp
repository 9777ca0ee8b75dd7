#include "core/show/tables/probe.h"

#include <fmt/format.h>

#include "core/base/units.h"

namespace orch::tables {
namespace {

std::string stages_of(const Slice& slice) { return stages_text(slice.stage, slice.last_stage); }

Rows summary(const std::vector<Slice>& slices) {
  Rows rows{{"stages", "rank", "GiB", "estimated", "error", "ms of a micro-batch", "estimated ",
             "error ", "device"}};
  for (const auto& slice : slices) {
    std::vector<std::string> row{stages_of(slice), std::to_string(slice.rank)};
    const auto m = static_cast<double>(slice.micro_batches);
    const auto measured = slice.measured.value_or(record::Measurement());
    const auto memory = compare_memory(slice.estimate, measured).total;
    const auto time = compare_time(slice.estimate, measured).total;
    const auto milliseconds = [&](double step) { return fmt::format("{:.2f}", 1e3 * step / m); };
    row.insert(row.end(),
               {memory.measured ? format_gib(*memory.measured) : "", format_gib(*memory.estimated),
                memory.error_text(), time.measured ? milliseconds(*time.measured) : "",
                milliseconds(*time.estimated), time.error_text(),
                slice.failure.empty() ? slice.device : slice.failure});
    rows.push_back(std::move(row));
  }
  return rows;
}

std::string title(const plan::Run& run, const std::vector<Slice>& slices) {
  const auto& layout = run.layout;
  auto out = fmt::format(
      "{}: {} of {} ranks (tensor {} x pipeline {} x data {}), each alone, {} micro-batches of {} in "
      "a step.\nCommunication is not in it: collectives and messages return at once; nor are the "
      "driver's context and communicators.",
      run.id, slices.size(), run.gpus, layout.tensor_parallel, layout.pipeline_parallel,
      layout.data_parallel, slices.front().micro_batches, run.batch.micro_batch);
  for (const auto& slice : slices)
    if (slice.is_strange) {
      out += fmt::format(" It ran on {}, and time is estimated for {}: these do not compare.",
                         slice.device, slice.estimated_for);
      return out + "\n";
    }
  for (const auto& slice : slices)
    if (!slice.estimated_for.empty() && slice.estimated_for != run.partition->gpu.name) {
      out += fmt::format(" Planned for {}; time is estimated for {}, which it ran on.",
                         run.partition->gpu.name, slice.estimated_for);
      break;
    }
  return out + "\n";
}

}  // namespace

std::string probe(const plan::Run& run, const std::vector<Slice>& slices, const Screen& screen) {
  auto out = screen.markdown ? title(run, slices) : wrap(title(run, slices), screen);
  out += "\n" + grid(summary(slices), screen);
  for (const auto& slice : slices) {
    if (!slice.measured) continue;
    const auto stages = run.layout.pipeline_parallel > 1 ? "stage " + stages_of(slice) + ": " : "";
    out += titled(stages + "seconds of one step",
                  compared_rows(compare_time(slice.estimate, *slice.measured), false), screen);
    out += titled(stages + "bytes of one rank",
                  compared_rows(compare_memory(slice.estimate, *slice.measured), true), screen);
  }
  return out;
}

}  // namespace orch::tables
