#include <fmt/format.h>

#include <cstdio>

#include "core/base/room.h"
#include "core/base/text.h"
#include "core/base/units.h"
#include "core/cli/chosen.h"
#include "core/cli/commands.h"
#include "core/cli/exit.h"
#include "core/cli/probe.h"
#include "core/cli/run_records.h"
#include "core/cli/trainers.h"
#include "core/run/launch/local/local_machine.h"
#include "core/run/launch/local/local_run.h"
#include "core/record/records_json.h"

namespace orch::cli {
namespace {

// What a slice measured, as a record: of one rank, without communication.
record::Record record_of(const Probe& probe, const tables::Slice& slice) {
  const plan::Planned planned{probe.part(), slice.estimate};
  auto out = record::planned_record(planned, "");
  out.id = fmt::format("{}:{}", probe.run().id, Probe::name_of(slice));
  out.set("stage", slice.stage);
  out.origin.kind = "probe";
  out.origin.file = (probe.folder() / Probe::name_of(slice)).string();
  out.notes = "one rank alone: communication is not in it";
  if (!slice.device.empty()) out.origin.versions.emplace_back("device", slice.device);
  out.state = slice.measured ? record::State::finished : record::State::failed;
  out.reason = slice.failure;
  if (!slice.measured) return out;
  const auto& of_slice = slice.measured->run;
  out.measured.step_seconds = of_slice.step_seconds;
  out.measured.peak_memory_bytes = of_slice.peak_memory_bytes;
  out.measured.peak_memory_from = "max reserved";
  out.measured.steps = of_slice.steps;
  for (const auto& [name, amount] : slice.measured->profile.time_items)
    out.measured.time_items.push_back({name, "compute", amount});
  return out;
}

std::string text_of(const std::vector<Probe>& probes, const Common& common) {
  std::vector<record::Record> records;
  std::string out;
  for (const auto& probe : probes) {
    if (!out.empty()) out += "\n";
    if (common.format == "json")
      for (const auto& slice : probe.slices()) records.push_back(record_of(probe, slice));
    else if (common.format == "md")
      out += tables::probe_markdown(probe.run(), probe.slices());
    else
      out += tables::probe(probe.run(), probe.slices(), common.screen);
  }
  return common.format == "json" ? record::records_json(records) : out;
}

// Without a GPU a slice lives in the machine's own memory: what does not fit there would take
// everything else down with it.
Errors too_large(const Probe& probe) {
  Errors errors;
  const auto available = static_cast<double>(host_room().bytes);
  if (launch::visible_gpus(nullptr) > 0 || available == 0) return errors;
  for (const auto& slice : probe.slices())
    if (slice.estimate.peak_memory > available)
      errors.push_back({fmt::format("{}: {}", probe.run().id, Probe::name_of(slice)),
                        fmt::format("needs {}, and {} are free on this machine, which has no GPU",
                                    format_bytes(slice.estimate.peak_memory),
                                    format_bytes(available)),
                        "use --prepare, and run it where there is one"});
  return errors;
}

// kOk, also where a slice failed: the table says why.
int run_slices(App& app, const Probe& probe) {
  const auto& run = probe.run();
  if (const auto errors = too_large(probe); !errors.empty()) return fail(errors, kError);
  if (run.trainer.empty())
    if (const int code = build_trainers({run.strategy->backend}); code != kOk) return code;
  const auto trainer = launch::find_trainer(run, app.places().trainers);
  if (trainer.path.empty())
    return fail(Error{run.id, "no such program: " + printable(trainer.wanted),
                      "build it, as ./orch of a clone does, or use --prepare and run it elsewhere"},
                kError);
  for (const auto& slice : probe.slices()) {
    note(fmt::format("{}: {}, rank {} of {} alone\n", run.id, Probe::name_of(slice), slice.rank,
                     run.gpus));
    const auto status = probe.start(slice, trainer.path);
    if (interrupted()) return kInterrupted;
    if (!status) fail(status.error(), kError);
  }
  return kOk;
}

int probe_one(App& app, const ProbeArguments& arguments, const std::string& word,
              std::vector<Probe>& probes) {
  auto chosen = choose_run(app, {word, arguments.set}, arguments.where, "", arguments.runs);
  if (const int* code = std::get_if<int>(&chosen)) return *code;
  auto planned = app.explain(std::move(std::get<Chosen>(chosen).run));  // gives it its name
  if (!planned) return fail(planned.error(), kError);
  auto probe = Probe::make(app, std::move(planned->run), arguments.output);
  if (!probe) return fail(probe.error(), kError);
  if (!arguments.show)
    if (auto status = probe->write(); !status) return fail(status.error(), kError);
  if (auto status = probe->read(); !status) return fail(status.error(), kError);
  if (!arguments.show && !arguments.prepare) {
    if (const int code = run_slices(app, *probe); code != kOk) return code;
    if (auto status = probe->read(); !status) return fail(status.error(), kError);
  }
  probes.push_back(std::move(*probe));
  return kOk;
}

}  // namespace

int probe_command(const ProbeArguments& arguments) {
  auto app = App::create();
  if (!app) return fail(app.error(), kError);
  std::vector<Probe> probes;
  for (const auto& word : arguments.words)
    if (const int code = probe_one(**app, arguments, word, probes); code != kOk) return code;
  if (arguments.prepare) {
    for (const auto& probe : probes)
      print(fmt::format("{}/run TRAINER    runs {} slices; orch probe --show reads them back\n",
                        probe.folder().string(), probe.slices().size()));
    return kOk;
  }
  print(text_of(probes, arguments.common));
  for (const auto& probe : probes)
    for (const auto& slice : probe.slices())
      if (!slice.measured) return kRunsFailed;
  return kOk;
}

}  // namespace orch::cli
