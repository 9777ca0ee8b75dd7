#include <fmt/format.h>

#include "core/base/room.h"
#include "core/base/text.h"
#include "core/base/units.h"
#include "core/app/chosen.h"
#include "core/app/commands.h"
#include "core/app/probe.h"
#include "core/app/trainers.h"
#include "core/record/planned.h"
#include "core/record/records_json.h"
#include "core/run/launch/local/local_machine.h"
#include "core/run/launch/local/local_run.h"

namespace orch::app {
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
  out.measured.step_seconds = slice.measured->step_seconds;
  out.measured.peak_memory_bytes = slice.measured->peak_memory_bytes;
  out.measured.peak_memory_from = "max reserved";
  out.measured.steps = slice.measured->steps;
  out.measured.time_items = slice.measured->time_items;
  for (auto& item : out.measured.time_items) item.kind = "compute";
  return out;
}

std::string text_of(const std::vector<Probe>& probes, const Common& common) {
  std::vector<record::Record> records;
  std::string out;
  for (const auto& probe : probes) {
    if (!out.empty()) out += "\n";
    if (common.format == "json")
      for (const auto& slice : probe.slices()) records.push_back(record_of(probe, slice));
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

// Well, also where a slice failed: the table says why.
Ending run_slices(App& app, const Probe& probe, Console& console) {
  const auto& run = probe.run();
  if (const auto errors = too_large(probe); !errors.empty()) return errors;
  if (run.trainer.empty())
    if (auto ended = build_trainers({run.strategy->backend}); !ended.ok()) return ended;
  const auto trainer = launch::find_trainer(run, app.places().trainers);
  if (trainer.path.empty())
    return Error{run.id, "no such program: " + printable(trainer.wanted),
                 "build it, as ./orch of a clone does, or use --prepare and run it elsewhere"};
  for (const auto& slice : probe.slices()) {
    console.note(fmt::format("{}: {}, rank {} of {} alone\n", run.id, Probe::name_of(slice),
                             slice.rank, run.gpus));
    const auto status = probe.start(slice, trainer.path);
    if (interrupted()) return Exit::interrupted;
    if (!status) console.complain(status.error());
  }
  return Exit::ok;
}

Ending probe_one(App& app, const ProbeArguments& arguments, const std::string& word,
                 std::vector<Probe>& probes, Console& console) {
  auto chosen = choose_run(app, {word, arguments.set}, arguments.where, {}, arguments.runs);
  if (const auto* ended = std::get_if<Ending>(&chosen)) return *ended;
  auto planned = app.explain(std::move(std::get<Chosen>(chosen).run));  // gives it its name
  if (!planned) return planned.error();
  auto probe = Probe::make(app, std::move(planned->run), arguments.output);
  if (!probe) return probe.error();
  if (!arguments.show)
    if (auto status = probe->write(); !status) return status.error();
  if (auto status = probe->read(); !status) return status.error();
  if (!arguments.show && !arguments.prepare) {
    if (auto ended = run_slices(app, *probe, console); !ended.ok()) return ended;
    if (auto status = probe->read(); !status) return status.error();
  }
  probes.push_back(std::move(*probe));
  return Exit::ok;
}

}  // namespace

Ending probe_command(App& app, const ProbeArguments& arguments, Console& console) {
  std::vector<Probe> probes;
  for (const auto& word : arguments.words)
    if (auto ended = probe_one(app, arguments, word, probes, console); !ended.ok()) return ended;
  if (arguments.prepare) {
    for (const auto& probe : probes)
      console.print(
          fmt::format("{}/run TRAINER    runs {} slices; orch probe --show reads them back\n",
                      probe.folder().string(), probe.slices().size()));
    return Exit::ok;
  }
  console.print(text_of(probes, arguments.common));
  for (const auto& probe : probes)
    for (const auto& slice : probe.slices())
      if (!slice.measured) return Exit::runs_failed;
  return Exit::ok;
}

}  // namespace orch::app
