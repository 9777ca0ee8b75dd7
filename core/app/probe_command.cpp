#include <fmt/format.h>

#include <algorithm>

#include "core/app/chosen.h"
#include "core/app/commands.h"
#include "core/app/run_logs.h"
#include "core/app/trainers.h"
#include "core/base/room.h"
#include "core/base/text.h"
#include "core/base/units.h"
#include "core/plan/run_json.h"
#include "core/plan/stack.h"
#include "core/price/estimate/slice.h"
#include "core/record/events/collect.h"
#include "core/record/planned.h"
#include "core/record/records_json.h"
#include "core/run/launch/local/local_machine.h"
#include "core/run/launch/local/local_run.h"
#include "core/run/launch/local/together.h"
#include "core/show/tables/compared.h"
#include "core/show/tables/records.h"

namespace orch::app {
namespace {

constexpr std::int64_t kSteps = 6;  // a trainer analyses the last three
constexpr double kMostProbeSeconds = 24 * 3600;

// One rank of a planned run, run alone.
struct ProbedSlice {
  std::int64_t stage = 0, last_stage = 0;  // it represents the stages up to this one
  std::int64_t rank = 0;
  std::int64_t micro_batches = 1;  // per step
  std::string device;              // the device that it ran on; empty: it has not run
  std::string estimated_for;       // the GPU whose constants the estimate uses
  bool is_strange = false;         // true: it ran on another GPU
  plan::Estimate estimate;         // of the slice alone
  std::optional<record::Measurement> measured;
  std::string failure;  // why there is no result
};

// One rank for each kind of stage of a planned run, to be run alone on this machine, as if the
// other ranks answered at once. It has its own folder, which may be copied to another machine:
// <folder>/run starts the slices there, and their output is read back here.
struct ProbeCommand {
  plan::Run run;   // as planned
  plan::Run part;  // as run by the slices: a few micro-batches and steps, synthetic tokens
  fs::path folder;
  std::vector<ProbedSlice> slices;
};

// "stage-3", below the folder.
std::string name_of(const ProbedSlice& slice) { return fmt::format("stage-{}", slice.stage); }

// A few micro-batches with synthetic tokens are representative.
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
  // Our own trainer needs its own engine, whichever the plan estimates.
  for (std::size_t i = 0; run.trainer.empty() && i < run.settings.size(); ++i)
    if (const auto& param = run.strategy->params[i]; param.name == "engine")
      run.settings.set(i, param.default_value);
  return run;
}

std::string device_of(const record::Record& history) {
  for (const auto& [name, version] : history.origin.versions)
    if (name == "device") return version;
  return {};
}

// Communication that returns at once is counted as ordinary time.
void forget_talk(std::vector<plan::EstimateItem>& items) {
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

// Created in the folder of all probes. The run's own data and checkpoints are not needed.
Result<ProbeCommand> make_probe(App& app, plan::Run run, const fs::path& folder) {
  ProbeCommand probe;
  backend::Work work;
  const auto& backend = app.backends().of(*run.strategy);
  if (auto status = backend.work(run, backend::WorkTexts::formulas, work); !status)
    return status.error();
  const auto micro_batches = estimate::enough_micro_batches(work);
  probe.part = part_of(run, micro_batches);
  probe.folder = folder / run.id;
  probe.run = std::move(run);
  if (auto status = backend.work(probe.part, backend::WorkTexts::formulas, work); !status)
    return status.error();
  const auto& layout = probe.run.layout;
  for (const auto& stages : work.stage_list) {
    ProbedSlice slice;
    slice.stage = stages.first;
    slice.last_stage = stages.last;
    slice.rank = stages.first * layout.tensor_parallel * layout.data_parallel;
    slice.micro_batches = micro_batches;
    probe.slices.push_back(std::move(slice));
  }
  return probe;
}

std::string script_of(const ProbeCommand& probe) {
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
      probe.run.id, probe.run.strategy->backend, probe.run.gpus);
  for (const auto& slice : probe.slices)
    out += fmt::format("slice {} {} \"$@\"\n", name_of(slice), slice.rank);
  return out + "if [ $ran = 0 ]; then echo \"no such stage: $*\" >&2; exit 2; fi\nexit $failed\n";
}

// Writes run.json of each slice, and the program that runs them.
Status write(const ProbeCommand& probe) {
  std::error_code code;
  for (const auto& slice : probe.slices) {
    const auto place = probe.folder / name_of(slice);
    fs::create_directories(place, code);
    if (code) return file_error(place, "cannot make the folder", code.value());
    if (auto status = write_file_atomically(place / "run.json", plan::run_json(probe.part));
        !status)
      return status;
  }
  const auto program = probe.folder / "run";
  if (auto status = write_file_atomically(program, script_of(probe)); !status) return status;
  fs::permissions(program, fs::perms::owner_exec | fs::perms::group_exec, fs::perm_options::add,
                  code);
  if (code) return file_error(program, "cannot be made a program", code.value());
  return {};
}

// Runs one slice; an error has the end of its output.
Status start(const ProbeCommand& probe, const ProbedSlice& slice, const fs::path& trainer) {
  launch::LocalRanks together;
  together.argv = {fs::absolute(probe.folder / "run").string(), fs::absolute(trainer).string(),
                   name_of(slice)};
  together.folder = fs::absolute(probe.folder);
  together.timeout_seconds = kMostProbeSeconds;
  together.interrupted = interrupted;
  return launch::run_together(together);
}

// Reads the slices' measurements, and estimates them for the device that they ran on.
Status read(App& app, ProbeCommand& probe) {
  const auto gpus = app.clusters().gpus();
  if (!gpus) return gpus.error();
  backend::Work work;
  if (auto status = app.backends()
                        .of(*probe.part.strategy)
                        .work(probe.part, backend::WorkTexts::formulas, work);
      !status)
    return status;
  std::error_code ignored;
  auto alone = probe.part;
  alone.gpus = 1;  // no other rank shares the machine
  for (auto& slice : probe.slices) {
    const auto attempt = probe.folder / name_of(slice) / "attempts" / "1";
    slice.measured.reset();
    slice.failure.clear();
    slice.device = device_of(events::read_history({attempt}));
    auto at = plan::priced_at(probe.run);
    const bool has_gpu = !slice.device.empty() && slice.device != "cpu";
    const auto* gpu = has_gpu ? hardware::find_gpu(*gpus, slice.device, 0) : nullptr;
    if (gpu && gpu->gpu.name != at.gpu.name) {
      at.gpu = gpu->gpu;
      at.efficiency = gpu->efficiency;
    }
    slice.is_strange = has_gpu ? !gpu : slice.device == "cpu" && at.gpu.name != "cpu";
    slice.estimated_for = at.gpu.name;
    if (slice.device != "cpu") at.gpu.context_memory.value = 0;  // the allocator does not count it
    slice.estimate =
        estimate::Estimator().explain(alone, estimate::slice_of(work, slice.stage), at);
    const auto progress = events::read_progress(attempt, 0);
    if (progress && fs::exists(attempt / "finished", ignored)) {
      slice.measured = progress->measured;
      events::read_profile(attempt, *slice.measured);
      forget_talk(slice.measured->time_items);
      continue;
    }
    const auto confession = RunLogs().confession(attempt);
    slice.failure = !confession.line.empty()       ? confession.line
                    : fs::exists(attempt, ignored) ? "failed: its stdout.log says why"
                                                   : "has not run";
  }
  return {};
}

// A slice's measurement as a record: one rank, without communication.
record::Record record_of(const ProbeCommand& probe, const ProbedSlice& slice) {
  const plan::Planned planned{probe.part, slice.estimate};
  auto out = record::planned_record(planned, "");
  out.id = fmt::format("{}:{}", probe.run.id, name_of(slice));
  out.set("stage", slice.stage);
  out.origin.kind = "probe";
  out.origin.file = (probe.folder / name_of(slice)).string();
  out.notes = "one rank alone: communication is not in it";
  if (!slice.device.empty()) out.origin.versions.emplace_back("device", slice.device);
  out.state = slice.measured ? record::RunState::finished : record::RunState::failed;
  out.reason = slice.failure;
  if (!slice.measured) return out;
  out.measured.step_seconds = slice.measured->step_seconds;
  out.measured.peak_memory_bytes = slice.measured->peak_memory_bytes;
  out.measured.peak_memory_from = "max reserved";
  out.measured.steps = slice.measured->steps;
  out.measured.time_items = slice.measured->time_items;
  for (auto& item : out.measured.time_items) item.kind = "compute";
  return out;
}

std::string stages_of(const ProbedSlice& slice) {
  return tables::stages_text(slice.stage, slice.last_stage);
}

show::Cell byte_cell(const std::optional<double>& bytes) {
  return bytes ? show::Cell(*bytes, format_gib(*bytes)) : show::Cell();
}

show::Table slices_table(const std::vector<ProbedSlice>& slices) {
  std::vector<const ProbedSlice*> rows;
  for (const auto& slice : slices) rows.push_back(&slice);
  show::Columns<ProbedSlice> columns(std::move(rows));
  const auto add = [&](const char* title, auto read) { columns.add("", title, 0, read); };
  const auto measured = [](const ProbedSlice& s) {
    return s.measured.value_or(record::Measurement());
  };
  const auto memory = [=](const ProbedSlice& s) {
    return tables::compare_memory(s.estimate, measured(s)).total;
  };
  const auto time = [=](const ProbedSlice& s) {
    return tables::compare_time(s.estimate, measured(s)).total;
  };
  const auto milliseconds = [](const ProbedSlice& s, const std::optional<double>& step) {
    return step ? fmt::format("{:.2f}", 1e3 * *step / static_cast<double>(s.micro_batches)) : "";
  };
  add("stages", stages_of);
  add("rank", [](const ProbedSlice& s) { return s.rank; });
  add("GiB", [=](const ProbedSlice& s) { return byte_cell(memory(s).measured); });
  add("estimated", [=](const ProbedSlice& s) { return byte_cell(memory(s).estimated); });
  add("error", [=](const ProbedSlice& s) { return memory(s).error_text(); });
  add("ms of a micro-batch",
      [=](const ProbedSlice& s) { return milliseconds(s, time(s).measured); });
  add("estimated ", [=](const ProbedSlice& s) { return milliseconds(s, time(s).estimated); });
  add("error ", [=](const ProbedSlice& s) { return time(s).error_text(); });
  add("device", [](const ProbedSlice& s) { return s.failure.empty() ? s.device : s.failure; });
  return columns.table("");
}

std::string title(const plan::Run& run, const std::vector<ProbedSlice>& slices) {
  const auto& layout = run.layout;
  auto out = fmt::format(
      "{}: {} of {} ranks (tensor {} x pipeline {} x data {}), each alone, {} micro-batches of {} "
      "in "
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

// Memory and compute time of the slices beside their estimates: a table of all slices, then item by
// item.
show::Answer answer_of(const ProbeCommand& probe) {
  show::Answer out{"", title(probe.run, probe.slices), {slices_table(probe.slices)}};
  for (const auto& slice : probe.slices) {
    if (!slice.measured) continue;
    const auto stages =
        probe.run.layout.pipeline_parallel > 1 ? "stage " + stages_of(slice) + ": " : "";
    const auto add = [&](const char* what, tables::ComparisonTables comparison, bool bytes) {
      out.sections.push_back(
          tables::compared_table("", stages + what, std::move(comparison), bytes));
    };
    add("seconds of one step", tables::compare_time(slice.estimate, *slice.measured), false);
    add("bytes of one rank", tables::compare_memory(slice.estimate, *slice.measured), true);
  }
  return out;
}

// Records, which ingest, compare and report can read; for people a table of each probe.
void give(const std::vector<ProbeCommand>& probes, const CommonArguments& common,
          Console& console) {
  std::vector<record::Record> records;
  for (const auto& probe : probes)
    for (const auto& slice : probe.slices) records.push_back(record_of(probe, slice));
  if (common.format == "json") return console.print(record::records_json(records));
  if (common.format == "csv") return common.give(tables::records_answer(records), console);
  for (std::size_t i = 0; i < probes.size(); ++i) {
    if (i > 0) console.print("\n");
    common.give(answer_of(probes[i]), console);
  }
}

// Without a GPU a slice uses the machine's own memory: one that does not fit would affect all other
// programs.
Errors too_large(const ProbeCommand& probe) {
  Errors errors;
  const auto available = static_cast<double>(host_room().bytes);
  if (launch::visible_gpus(nullptr) > 0 || available == 0) return errors;
  for (const auto& slice : probe.slices)
    if (slice.estimate.peak_memory > available)
      errors.push_back(
          {fmt::format("{}: {}", probe.run.id, name_of(slice)),
           fmt::format("needs {}, and {} are free on this machine, which has no GPU",
                       format_bytes(slice.estimate.peak_memory), format_bytes(available)),
           "use --prepare, and run it where there is one"});
  return errors;
}

// Succeeds even if a slice failed: the table has the reason.
Ending run_slices(App& app, const ProbeCommand& probe, Console& console) {
  const auto& run = probe.run;
  if (const auto errors = too_large(probe); !errors.empty()) return errors;
  if (run.trainer.empty())
    if (auto ended = build_trainers({run.strategy->backend}); !ended.ok()) return ended;
  const auto trainer = launch::find_trainer(run, app.places().trainers);
  if (trainer.path.empty())
    return Error{run.id, "no such program: " + printable(trainer.wanted),
                 "build it, as ./orch of a clone does, or use --prepare and run it elsewhere"};
  for (const auto& slice : probe.slices) {
    console.note(
        fmt::format("{}: {}, rank {} of {} alone\n", run.id, name_of(slice), slice.rank, run.gpus));
    const auto status = start(probe, slice, trainer.path);
    if (interrupted()) return Exit::interrupted;
    if (!status) console.complain(status.error());
  }
  return Exit::ok;
}

Ending probe_one(App& app, const ProbeArguments& arguments, const std::string& word,
                 std::vector<ProbeCommand>& probes, Console& console) {
  auto chosen = choose_run(app, {word, arguments.set}, arguments.where, {}, arguments.runs);
  if (const auto* ended = std::get_if<Ending>(&chosen)) return *ended;
  auto planned = app.explain(std::move(std::get<ChosenRun>(chosen).run));  // sets its name
  if (!planned) return planned.error();
  auto probe = make_probe(app, std::move(planned->run), arguments.output);
  if (!probe) return probe.error();
  if (!arguments.show)
    if (auto status = write(*probe); !status) return status.error();
  if (auto status = read(app, *probe); !status) return status.error();
  if (!arguments.show && !arguments.prepare) {
    if (auto ended = run_slices(app, *probe, console); !ended.ok()) return ended;
    if (auto status = read(app, *probe); !status) return status.error();
  }
  probes.push_back(std::move(*probe));
  return Exit::ok;
}

}  // namespace

Ending probe_command(App& app, const ProbeArguments& arguments, Console& console) {
  std::vector<ProbeCommand> probes;
  for (const auto& word : arguments.words)
    if (auto ended = probe_one(app, arguments, word, probes, console); !ended.ok()) return ended;
  if (arguments.prepare) {
    for (const auto& probe : probes)
      console.print(
          fmt::format("{}/run TRAINER    runs {} slices; orch probe --show reads them back\n",
                      probe.folder.string(), probe.slices.size()));
    return Exit::ok;
  }
  give(probes, arguments.common, console);
  for (const auto& probe : probes)
    for (const auto& slice : probe.slices)
      if (!slice.measured) return Exit::runs_failed;
  return Exit::ok;
}

}  // namespace orch::app
