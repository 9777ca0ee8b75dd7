#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "core/app/gather.h"
#include "core/app/session.h"
#include "core/base/date.h"
#include "core/base/text.h"
#include "core/record/events/collect.h"
#include "core/record/planned.h"
#include "core/record/published/said.h"
#include "core/run/store/run_folder.h"
#include "core/show/compare/spikes.h"

namespace orch::app {
namespace {

using record::Record;

// Largest relative difference between a frozen estimate and a new one that count as the same.
constexpr double kSame = 1e-3;

// The group of an item that our own trainers measure.
std::string group_of_measured(const std::string& name) {
  if (name.find("optimizer") != std::string::npos) return "optimizer";
  if (name.find("all-reduce") != std::string::npos || name.find("gather") != std::string::npos)
    return "communication";
  return name == "other" ? "other" : "compute";
}

// Adds the log of a trainer that writes no events, and its contradictions to run.json.
void add_log(const std::vector<fs::path>& folders, RunLogs& logs, Record& record) {
  auto found = logs.history(record.id, folders);
  if (!found) return;
  published::complete(*found);
  record.measured = std::move(found->measured);
  record.measured.spikes = compare::find_spikes(record.measured.losses, record.measured.resumes);
  auto& versions = record.origin.versions;
  versions.insert(versions.end(), found->origin.versions.begin(), found->origin.versions.end());
  if (const auto* framework = found->field("framework")) record.set("framework", *framework);
  for (const auto& field : found->fields) {
    const auto* ours = record.field(field.name);
    const bool counts = std::holds_alternative<std::int64_t>(field.value);
    if (ours == nullptr || !counts || field.assumed || *ours == field.value) continue;
    record.doubts.push_back({"log", field.name,
                             fmt::format("run.json says {} {}, the log {}", field.name,
                                         record::text(*ours), record::text(field.value))});
  }
}

void add_history(const fs::path& folder, const std::vector<record::Attempt>& attempts,
                 RunLogs& logs, Record& record) {
  std::vector<fs::path> folders;
  std::vector<std::string> jobs;
  for (const auto& attempt : attempts) {
    folders.push_back(folder / "attempts" / std::to_string(attempt.number));
    if (!attempt.job.empty() && (jobs.empty() || jobs.back() != attempt.job))
      jobs.push_back(attempt.job);
    for (const auto& node : attempt.nodes)
      if (std::find(record.origin.nodes.begin(), record.origin.nodes.end(), node) ==
          record.origin.nodes.end())
        record.origin.nodes.push_back(node);
  }
  auto history = events::read_history(folders);
  record.measured = std::move(history.measured);
  record.measured.spent = events::spent_time(folders, attempts);
  for (auto& item : record.measured.time_items) item.kind = group_of_measured(item.name);
  record.measured.spikes = compare::find_spikes(record.measured.losses, record.measured.resumes);
  record.origin.job = join(jobs, ", ");
  record.origin.start = attempts.empty() ? history.origin.start : attempts.front().start;
  record.origin.end = attempts.empty() ? history.origin.end : attempts.back().end;
  if (record.origin.start > 0) record.origin.date = format_day(record.origin.start);
  auto& versions = record.origin.versions;
  versions.insert(versions.end(), history.origin.versions.begin(), history.origin.versions.end());
  if (record.measured.steps == 0 && !record.measured.step_seconds) add_log(folders, logs, record);
  if (const auto energy = events::spent_kwh(folders, attempts))
    record.measured.stated["energy_kwh"] = *energy;
}

// Keeps the estimate made before the run; items are computed now, and used only if the totals
// agree.
void keep_frozen(const plan::Estimate& frozen, plan::Estimate& now) {
  if (frozen.step_seconds <= 0) return;
  const bool same = std::abs(now.step_seconds / frozen.step_seconds - 1) < kSame &&
                    std::abs(now.peak_memory / std::max(frozen.peak_memory, 1.0) - 1) < kSame;
  if (!same) now = frozen;
}

Record record_of(App& app, const fs::path& root, const follow::FollowedRun& view, RunLogs& logs,
                 Errors& troubles) {
  auto out = view.record;
  const auto frozen = std::exchange(out.estimated, std::nullopt);
  const auto seen = std::exchange(out.measured, {});
  out.fields.clear();
  const auto folder = root / out.source / out.id;
  auto run = app.read_run(folder);
  if (troubles.add(run)) {
    out.fields = record::fields_of(*run, true);
    if (const auto planned = app.explain(std::move(*run), backend::WorkTexts::names))
      out.estimated = record::estimated_of(planned->estimate);
    if (out.estimated && frozen) keep_frozen(*frozen, *out.estimated);
  }
  out.origin.kind = "run";
  out.origin.file = folder.string();
  out.origin.experiment = out.source;
  const auto attempts = store::read_attempts(folder);
  if (troubles.add(attempts)) add_history(folder, *attempts, logs, out);
  troubles.add(store::read_provenance(folder, out.origin));
  // The same work in the measured time.
  if (const auto& step = out.measured.step_seconds; step && out.estimated)
    if (const double work = out.estimated->tflops_per_gpu * out.estimated->step_seconds; work > 0)
      out.measured.tflops.push_back({work / step->value, "megatron", true});
  out.measured.steps_planned = seen.steps_planned;
  if (seen.gpu_hours > 0) out.measured.gpu_hours = seen.gpu_hours;
  return out;
}

}  // namespace

Result<RecordList> run_records(App& app, const fs::path& root, const std::string& experiment,
                               const std::vector<std::string>& ids, Errors& troubles) {
  AppSession session;
  follow::Campaign campaign(root, experiment, session.world(root / experiment), {});
  if (auto status = campaign.open(); !status) return status.error();
  campaign.refresh();
  const auto told = campaign.take_troubles();
  troubles.insert(troubles.end(), told.begin(), told.end());
  RecordList out;
  const std::set<std::string> wanted(ids.begin(), ids.end());
  for (const auto& view : campaign.runs())
    if (wanted.empty() || wanted.contains(view.record.id))
      out.push_back(record_of(app, root, view, session.logs(), troubles));
  return out;
}

}  // namespace orch::app
