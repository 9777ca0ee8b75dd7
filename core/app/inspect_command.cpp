#include <fmt/format.h>

#include <algorithm>
#include <set>

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

namespace orch::app {
namespace {

using launch::RankReport;

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

// Reads an optional property of a rank; nothing if it has none.
template <class Held, class Read>
std::function<show::Cell(const RankReport&)> of(const std::optional<Held> RankReport::*part,
                                                Read read) {
  return [=](const RankReport& rank) {
    return rank.*part ? show::Cell(read(*(rank.*part))) : show::Cell();
  };
}

void add_collective(show::Columns<RankReport>& to) {
  using flight::Collective;
  const auto add = [&](const char* name, auto read) {
    to.add(name, of<Collective>(&RankReport::collective, read));
  };
  add("collective", [](const Collective& c) { return std::string(c.kind); });
  add("group", [](const Collective& c) { return std::string(c.group); });
  add("sequence", [](const Collective& c) { return static_cast<std::int64_t>(c.sequence); });
  add("bytes", [](const Collective& c) { return static_cast<double>(c.bytes); });
  add("inside", [](const Collective& c) { return c.inside(); });
  to.add("collective_seconds", [](const RankReport& rank) {
    return rank.collective ? show::Cell(rank.collective_seconds) : show::Cell();
  });
}

void add_process(show::Columns<RankReport>& to) {
  using launch::RankProcess;
  const auto add = [&](const char* name, auto read) {
    to.add(name, of<RankProcess>(&RankReport::process, read));
  };
  add("host", [](const RankProcess& p) { return p.host; });
  add("pid", [](const RankProcess& p) { return p.pid; });
  add("process_state", [](const RankProcess& p) { return std::string(1, p.state); });
  add("wchan", [](const RankProcess& p) { return p.wchan; });
  add("cpu_seconds", [](const RankProcess& p) { return p.cpu_seconds; });
  add("resident_bytes", [](const RankProcess& p) { return p.resident; });
  add("stack_from", [](const RankProcess& p) { return p.stack_from; });
  add("stack", [](const RankProcess& p) { return join(p.stack, "\n"); });
}

show::Table ranks_table(std::vector<const RankReport*> ranks) {
  show::Columns<RankReport> columns(std::move(ranks));
  columns.add("rank", "rank", 0, [](const RankReport& r) { return r.rank; });
  columns.add("step", "step", 0,
              [](const RankReport& r) { return r.step >= 0 ? show::Cell(r.step) : show::Cell(); });
  columns.add("", "last collective", 0, collective_text);
  columns.add("", "process", 0, process_text);
  columns.add("recorded", [](const RankReport& r) { return r.recorded; });
  columns.add("collectives",
              [](const RankReport& r) { return static_cast<std::int64_t>(r.begun); });
  columns.add("suspicion", [](const RankReport& r) { return r.suspicion; });
  add_collective(columns);
  add_process(columns);
  return columns.table("ranks");
}

std::string stack_text(const RankReport& rank) {
  if (!rank.process || rank.process->stack.empty()) return "";
  auto out = fmt::format("rank {} ({}):\n", rank.rank, rank.process->stack_from);
  for (const auto& line : rank.process->stack) out += "    " + line + "\n";
  return out;
}

// Suspicious ranks come first.
show::Answer answer_of(const launch::Inspection& inspection, const std::string& said) {
  std::vector<const RankReport*> ranks;
  for (const auto& rank : inspection.ranks) ranks.push_back(&rank);
  std::ranges::stable_partition(ranks, [](const auto* rank) { return !rank->suspicion.empty(); });
  show::Findings findings;
  std::set<std::string> notes(inspection.notes.begin(), inspection.notes.end());
  for (const auto* rank : ranks) {
    if (!rank->suspicion.empty())
      findings.list.push_back(
          {"suspicion", fmt::format("rank {}: {}", rank->rank, printable(rank->suspicion))});
    findings.list.push_back({"stack", stack_text(*rank)});
    if (rank->process && !rank->process->note.empty()) notes.insert(rank->process->note);
  }
  for (const auto& note : notes) findings.list.push_back({"note", "note: " + printable(note)});
  show::Details details{"attempt"};
  details.pairs = {{"number", inspection.attempt}, {"probed", inspection.probed}, {"said", said}};
  auto title = fmt::format("attempt {}", inspection.attempt);
  if (!said.empty()) title += "\nsaid: " + said;
  return {"",
          std::move(title),
          {std::move(details), ranks_table(std::move(ranks)), std::move(findings)}};
}

}  // namespace

Ending inspect_command(const FollowArguments& arguments, Console& console) {
  const auto targets = find_targets(arguments.runs, arguments.targets);
  if (!targets) return targets.error();
  const auto one_run = [] {
    return Ending{Error{"orch inspect", "takes exactly one run", "orch status lists them"},
                  Exit::usage};
  };
  if (targets->size() != 1) return one_run();
  const auto& target = targets->front();
  AppSession session(console);
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
  arguments.common.give(answer_of(*inspection, said), console);
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
  return Error{printable(arguments.submission), "not found: no submission has this folder", ""};
}

}  // namespace orch::app
