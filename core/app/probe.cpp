#include "core/app/probe.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/base/text.h"
#include "core/app/run_logs.h"
#include "core/record/events/collect.h"
#include "core/price/estimate/slice.h"
#include "core/run/launch/local/together.h"
#include "core/plan/run_json.h"
#include "core/plan/stack.h"

namespace orch::app {
namespace {

constexpr std::int64_t kSteps = 6;        // a trainer takes the last three apart
constexpr double kMostProbeSeconds = 24 * 3600;

// Some micro-batches are as good as all of them, and synthetic tokens as any.
plan::Run part_of(plan::Run run, std::int64_t micro_batches) {
  run.batch.accumulate = micro_batches;
  run.batch.global_batch = micro_batches * run.batch.micro_batch * run.layout.data_parallel;
  run.batch.rampup.reset();
  run.steps = kSteps;
  run.training.data.clear();
  run.training.init.clear();
  run.training.evaluate_every = 0;
  run.training.tensorboard = false;
  run.training.log_every = 1;
  run.paths_from.clear();
  // Our own trainer has an engine of its own, whichever was planned for.
  for (std::size_t i = 0; run.trainer.empty() && i < run.settings.size(); ++i)
    if (const auto& param = run.strategy->params[i]; param.name == "engine")
      run.settings[i] = param.default_value;
  return run;
}

std::string device_of(const record::Record& history) {
  for (const auto& [name, version] : history.origin.versions)
    if (name == "device") return version;
  return {};
}

// What is left of it, where all of it returns at once, is time like any other.
void forget_talk(std::vector<plan::Item>& items) {
  const auto is_talk = [](const std::string& name) {
    for (const char* end : {"all-reduce", "all-gather", "reduce-scatter"})
      if (name.ends_with(end)) return true;
    return name.starts_with("send ") || name == "idle";
  };
  double sum = 0;
  std::erase_if(items, [&](const auto& item) {
    sum += is_talk(item.name) ? item.amount : 0;
    return is_talk(item.name);
  });
  const auto other = std::find_if(items.begin(), items.end(),
                                  [](const auto& item) { return item.name == "other"; });
  if (other == items.end())
    items.push_back({"other", "", sum});
  else
    other->amount += sum;
}

}  // namespace

Result<Probe> Probe::make(App& app, plan::Run run, const fs::path& folder) {
  Probe probe;
  backend::Work work;
  const auto& backend = app.backends().of(*run.strategy);
  if (auto status = backend.work(run, true, work); !status) return status.error();
  const auto micro_batches = estimate::enough_micro_batches(work);
  probe.app_ = &app;
  probe.part_ = part_of(run, micro_batches);
  probe.folder_ = folder / run.id;
  probe.run_ = std::move(run);
  if (auto status = backend.work(probe.part_, true, work); !status) return status.error();
  const auto& layout = probe.run_.layout;
  for (const auto& stages : work.stage_list) {
    tables::Slice slice;
    slice.stage = stages.first;
    slice.last_stage = stages.last;
    slice.rank = stages.first * layout.tensor_parallel * layout.data_parallel;
    slice.micro_batches = micro_batches;
    probe.slices_.push_back(std::move(slice));
  }
  return probe;
}

std::string Probe::name_of(const tables::Slice& slice) {
  return fmt::format("stage-{}", slice.stage);
}

std::string Probe::script() const {
  std::string out = fmt::format(
      R"sh(#!/usr/bin/env bash
# Runs one rank of each kind of stage of {} alone, on this machine, one after the other.
#   run TRAINER [STAGE...]    TRAINER: orch-train-{} as it was built here
set -u
if [ $# = 0 ]; then echo "usage: $0 TRAINER [STAGE...]" >&2; exit 2; fi
trainer=$(realpath "$1") || exit 2
if [ ! -x "$trainer" ]; then echo "$1: no such program" >&2; exit 2; fi
shift
cd "$(dirname "${{BASH_SOURCE[0]}}")" || exit 2
unset OMP_NUM_THREADS  # as many as a rank has among the others
failed=0 ran=0
slice() {{  # name, rank; those that are asked for
  local name=$1 rank=$2
  shift 2
  if [ $# -gt 0 ] && [[ " $* " != *" $name "* ]]; then return; fi
  ran=$((ran + 1))
  rm -rf "$name/attempts"
  mkdir -p "$name/attempts/1"
  RANK=$rank WORLD_SIZE={} LOCAL_RANK=0 ORCH_PROBE=1 "$trainer" --run "$name/run.json" \
    --attempt "$name/attempts/1" >"$name/attempts/1/stdout.log" 2>&1 || failed=1
  tail -n 1 "$name/attempts/1/stdout.log"
}}
)sh",
      run_.id, run_.strategy->backend, run_.gpus);
  for (const auto& slice : slices_)
    out += fmt::format("slice {} {} \"$@\"\n", name_of(slice), slice.rank);
  return out +
         "if [ $ran = 0 ]; then echo \"no such stage: $*\" >&2; exit 2; fi\nexit $failed\n";
}

Status Probe::write() const {
  std::error_code code;
  for (const auto& slice : slices_) {
    const auto place = folder_ / name_of(slice);
    fs::create_directories(place, code);
    if (code) return file_error(place, "cannot make the folder", code.value());
    if (auto status = write_file_atomically(place / "run.json", plan::run_json(part_)); !status)
      return status;
  }
  const auto program = folder_ / "run";
  if (auto status = write_file_atomically(program, script()); !status) return status;
  fs::permissions(program, fs::perms::owner_exec | fs::perms::group_exec, fs::perm_options::add, code);
  if (code) return file_error(program, "cannot be made a program", code.value());
  return {};
}

Status Probe::start(const tables::Slice& slice, const fs::path& trainer) const {
  launch::Together together;
  together.argv = {fs::absolute(folder_ / "run").string(), fs::absolute(trainer).string(),
                   name_of(slice)};
  together.folder = fs::absolute(folder_);
  together.timeout_seconds = kMostProbeSeconds;
  together.interrupted = interrupted;
  return launch::run_together(together);
}

Status Probe::read() {
  const auto gpus = hardware::load_gpus(app_->places().gpus());
  if (!gpus) return gpus.error();
  backend::Work work;
  if (auto status = app_->backends().of(*part_.strategy).work(part_, true, work); !status)
    return status;
  std::error_code ignored;
  auto alone = part_;
  alone.gpus = 1;  // nobody shares the machine
  for (auto& slice : slices_) {
    const auto attempt = folder_ / name_of(slice) / "attempts" / "1";
    slice.measured.reset();
    slice.failure.clear();
    slice.device = device_of(events::read_history({attempt}));
    auto at = plan::priced_at(part_);
    const bool has_gpu = !slice.device.empty() && slice.device != "cpu";
    const auto* gpu = has_gpu ? hardware::find_gpu(*gpus, slice.device, 0) : nullptr;
    if (gpu && gpu->gpu.name != at.gpu.name) {
      at.gpu = gpu->gpu;
      at.efficiency = gpu->efficiency;
    }
    slice.is_strange = has_gpu ? !gpu : slice.device == "cpu" && at.gpu.name != "cpu";
    slice.estimated_for = at.gpu.name;
    if (slice.device != "cpu") at.gpu.context_memory.value = 0;  // the allocator does not see it
    slice.estimate = estimate::Estimator().explain(alone, estimate::slice_of(work, slice.stage), at);
    const auto progress = events::read_progress(attempt, 0);
    if (progress && fs::exists(attempt / "finished", ignored)) {
      slice.measured = progress->measured;
      events::read_profile(attempt, *slice.measured);
      forget_talk(slice.measured->time_items);
      continue;
    }
    const auto confession = RunLogs().confession(attempt);
    slice.failure = !confession.line.empty()           ? confession.line
                    : fs::exists(attempt, ignored) ? "failed: its stdout.log says why"
                                                   : "has not run";
  }
  return {};
}

}  // namespace orch::app
