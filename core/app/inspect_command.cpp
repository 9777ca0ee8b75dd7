#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "core/app/commands.h"
#include "core/app/places.h"
#include "core/app/session.h"
#include "core/base/text.h"
#include "core/base/units.h"
#include "core/plan/slurm.h"
#include "core/record/events/collect.h"
#include "core/run/launch/inspect.h"
#include "core/run/launch/local/supervisor.h"
#include "core/run/store/run_folder.h"
#include "core/run/store/submissions.h"
#include "core/show/tables/json.h"

namespace orch::app {
namespace {

using launch::RankReport;
using Json = nlohmann::ordered_json;

std::string collective_text(const RankReport& rank) {
  if (!rank.collective) return rank.recorded ? "none yet" : "no recording";
  const auto& c = *rank.collective;
  return fmt::format("{} {} {} of {} ({}), {} {}", c.inside() ? "in" : "after", c.sequence, c.kind,
                     format_bytes(static_cast<double>(c.bytes)), c.group,
                     c.inside() ? "for" : "since", format_seconds(rank.collective_seconds));
}

std::string process_text(const RankReport& rank) {
  if (!rank.process) return "";
  const auto& p = *rank.process;
  auto out = fmt::format("{} pid {} {}, {:.0f} s CPU, {}", printable(p.host), p.pid, p.state,
                         p.cpu_seconds, format_bytes(p.resident));
  if (!p.wchan.empty() && p.wchan != "0") out += ", sleeps in " + printable(p.wchan);
  return out;
}

// Those that the others may wait for come first.
std::string text_of(const launch::Inspection& inspection, const std::string& said,
                    const show::Screen& screen) {
  std::vector<const RankReport*> ranks;
  for (const auto& rank : inspection.ranks) ranks.push_back(&rank);
  std::stable_sort(ranks.begin(), ranks.end(), [](const auto* a, const auto* b) {
    return !a->suspicion.empty() && b->suspicion.empty();
  });
  show::Rows rows = {{"rank", "step", "last collective", "process"}};
  std::string stacks;
  for (const auto* rank : ranks) {
    rows.push_back({std::to_string(rank->rank), rank->step >= 0 ? std::to_string(rank->step) : "",
                    collective_text(*rank), process_text(*rank)});
    if (!rank->suspicion.empty())
      stacks += fmt::format("rank {}: {}\n", rank->rank, printable(rank->suspicion));
    if (!rank->process || rank->process->stack.empty()) continue;
    stacks += fmt::format("rank {} ({}):\n", rank->rank, rank->process->stack_from);
    for (const auto& line : rank->process->stack) stacks += "    " + line + "\n";
  }
  auto out = fmt::format("attempt {}\n", inspection.attempt);
  if (!said.empty()) out += show::wrap("said: " + said + "\n", screen);
  out += show::grid(rows, screen) + stacks;
  std::set<std::string> notes(inspection.notes.begin(), inspection.notes.end());
  for (const auto& rank : inspection.ranks)
    if (rank.process && !rank.process->note.empty()) notes.insert(rank.process->note);
  for (const auto& note : notes) out += show::wrap("note: " + printable(note) + "\n", screen);
  return out;
}

Json json_of(const RankReport& rank) {
  Json out = {{"rank", rank.rank},
              {"recorded", rank.recorded},
              {"step", rank.step},
              {"collectives", rank.begun},
              {"suspicion", rank.suspicion}};
  if (rank.collective)
    out["collective"] = {{"kind", rank.collective->kind},
                         {"group", rank.collective->group},
                         {"sequence", rank.collective->sequence},
                         {"bytes", static_cast<double>(rank.collective->bytes)},
                         {"inside", rank.collective->inside()},
                         {"seconds", rank.collective_seconds}};
  if (rank.process)
    out["process"] = {{"host", rank.process->host},
                      {"pid", rank.process->pid},
                      {"state", std::string(1, rank.process->state)},
                      {"wchan", rank.process->wchan},
                      {"cpu_seconds", rank.process->cpu_seconds},
                      {"resident_bytes", rank.process->resident},
                      {"stack_from", rank.process->stack_from},
                      {"stack", rank.process->stack}};
  return out;
}

std::string document(const launch::Inspection& inspection, const std::string& said) {
  const Json out = {
      {"version", 1},
      {"attempt", inspection.attempt},
      {"probed", inspection.probed},
      {"said", said},
      {"ranks", mapped(inspection.ranks, [](const auto& rank) { return json_of(rank); })},
      {"notes", inspection.notes}};
  return tables::dump(out);
}

}  // namespace

Ending inspect_command(const FollowArguments& arguments, Console& console) {
  const auto targets = find_targets(arguments.runs, arguments.targets);
  if (!targets) return targets.error();
  const auto one_run = [] {
    return Ending{Error{"orch inspect", "takes one run", "orch status lists them"}, Exit::usage};
  };
  if (targets->size() != 1) return one_run();
  const auto& target = targets->front();
  Session session(console);
  const auto folder = fs::path(arguments.runs) / target.experiment;
  follow::Campaign campaign(arguments.runs, target.experiment, session.world(folder), {});
  if (auto status = campaign.open(); !status) return status.error();
  campaign.refresh();
  tell_troubles(campaign, console);
  const auto chosen = places(campaign, target);
  if (chosen.empty()) return Exit::error;
  if (chosen.size() > 1) return one_run();
  const auto& view = campaign.runs()[chosen.front()];
  const auto attempts = store::read_attempts(folder / view.record.id);
  if (!attempts) return attempts.error();
  if (attempts->empty())
    return Error{view.record.id, "has not started", "orch status shows what it waits for"};
  launch::InspectRequest request;
  request.run_folder = fs::absolute(folder / view.record.id);
  request.attempt = attempts->back().number;
  request.ranks = static_cast<int>(view.gpus());
  request.nodes = attempts->back().nodes.size();
  request.executor = view.phases > 0 ? "slurm" : "local";
  if (view.job) request.job = *view.job;
  request.now = session.clock().now();
  const auto inspection = launch::inspect_run(session.shell(), request);
  if (!inspection) return inspection.error();
  const auto attempt = request.run_folder / "attempts" / std::to_string(request.attempt);
  const auto said = session.logs().confession(attempt).line;
  console.print(arguments.common.format == "json"
                    ? document(*inspection, said)
                    : text_of(*inspection, said, arguments.common.screen));
  return Exit::ok;
}

Ending supervise_command(const SuperviseArguments& arguments, Console&) {
  const fs::path folder = arguments.submission;
  auto all = store::read_submissions(folder.parent_path().parent_path());
  if (!all) return all.error();
  for (auto& opened : *all) {
    if (opened.submission.id != folder.filename()) continue;
    launch::SupervisorOptions options;
    options.submission = std::move(opened.submission);
    options.trainers = own_program().parent_path();
    return launch::supervise(folder, options) == 0 ? Exit::ok : Exit::error;
  }
  return Error{printable(arguments.submission), "is no submission", ""};
}

}  // namespace orch::app
