#include "core/run/launch/inspect.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "core/base/number.h"
#include "core/base/text.h"

namespace orch::launch {
namespace {

constexpr std::string_view kPrefix = "rank-";

std::optional<int> rank_of(const std::string& name) {
  if (!name.starts_with(kPrefix)) return std::nullopt;
  const auto rank = number_from<int>(std::string_view(name).substr(kPrefix.size()));
  return rank && *rank >= 0 ? rank : std::nullopt;
}

const flight::Collective* at_hand(const flight::Recording& recording) {
  for (const auto& collective : recording.collectives)
    if (collective.inside()) return &collective;
  return recording.collectives.empty() ? nullptr : &recording.collectives.back();
}

RankReport report_of(int rank, const flight::Recording& recording, double now) {
  RankReport report;
  report.rank = rank;
  report.recorded = true;
  report.recorded_pid = recording.pid;
  report.step = recording.step;
  if (recording.step_time > 0) report.step_seconds = std::max(0.0, now - recording.step_time);
  report.begun = recording.last;
  if (const auto* seen = at_hand(recording)) {
    report.collective = *seen;
    report.collective_seconds = std::max(0.0, now - (seen->inside() ? seen->start : seen->end));
  }
  return report;
}

// Sorted by rank; the rank is taken from the file's name, because a damaged file may contain
// another one.
std::map<int, RankReport> read_recordings(const fs::path& folder, double now,
                                          std::vector<std::string>& notes) {
  std::map<int, RankReport> reports;
  for (const auto& file : entries_of(folder)) {
    const auto name = file.filename().string();
    const auto rank = rank_of(name);
    if (!rank) continue;
    if (const auto recording = flight::read(file.string()))
      reports[*rank] = report_of(*rank, *recording, now);
    else
      notes.push_back(fmt::format("flight/{} is damaged", printable(name)));
  }
  return reports;
}

using ProcessPlace = std::tuple<std::string, std::string, bool>;

ProcessPlace place_of(const RankReport& report) {
  if (!report.collective || !report.collective->inside()) return {"", "", false};
  return {report.collective->kind, report.collective->group, true};
}

std::string describe(const ProcessPlace& place) {
  const auto& [kind, group, inside] = place;
  return inside ? fmt::format("in {} of {}", kind, group) : "in none";
}

// Marks ranks that are in another place than the majority.
void suspect_strangers(std::vector<RankReport>& ranks) {
  std::map<ProcessPlace, std::size_t> count;
  std::size_t recorded = 0;
  for (const auto& report : ranks) {
    if (!report.recorded) continue;
    ++count[place_of(report)];
    ++recorded;
  }
  for (const auto& [place, size] : count) {
    if (2 * size <= recorded || size == recorded) continue;
    for (auto& report : ranks)
      if (report.recorded && place_of(report) != place)
        report.suspicion = fmt::format("{}, while {} ranks are {}", describe(place_of(report)),
                                       size, describe(place));
  }
}

// True for a wait in a channel between stages, recognised by the names that our trainers use.
bool waits_in_channel(const RankReport& report) {
  const auto& c = report.collective;
  return c && c->inside() && (c->group.starts_with("up ") || c->group.starts_with("down "));
}

// Stages wait for each other in a chain, and their numbers of collectives cannot be compared: the
// suspect is the stage at the end of the chain, which waits for none.
bool suspect_ends_of_chains(std::vector<RankReport>& ranks) {
  const auto waiting = std::count_if(ranks.begin(), ranks.end(), waits_in_channel);
  if (waiting == 0) return false;
  for (auto& report : ranks)
    if (report.recorded && !waits_in_channel(report))
      report.suspicion = fmt::format("{}, while {} ranks wait for another stage",
                                     describe(place_of(report)), waiting);
  return true;
}

}  // namespace

void find_suspects(std::vector<RankReport>& ranks) {
  std::uint64_t lowest = UINT64_MAX;
  std::uint64_t highest = 0;
  for (const auto& report : ranks) {
    if (!report.recorded) continue;
    lowest = std::min(lowest, report.begun);
    highest = std::max(highest, report.begun);
  }
  if (lowest > highest) return;  // there are no recordings
  const bool is_chain = suspect_ends_of_chains(ranks);
  for (auto& report : ranks) {
    if (report.process && report.process->state == 'T')
      report.suspicion = "its process is stopped";
    else if (!report.recorded)
      report.suspicion = "has no flight recording";
    else if (!is_chain && report.begun == lowest && lowest < highest)
      report.suspicion = fmt::format("has begun {} collectives, others up to {}", lowest, highest);
  }
  if (lowest == highest && !is_chain) suspect_strangers(ranks);
}

Result<Inspection> inspect_run(Shell& shell, const InspectRequest& request) {
  Inspection inspection;
  inspection.attempt = request.attempt;
  const auto folder = request.run_folder / "attempts" / std::to_string(request.attempt);
  std::error_code code;
  if (!fs::is_directory(folder, code))
    return Error{printable(request.run_folder.string()),
                 fmt::format("has no attempt {}", request.attempt), "orch status lists attempts"};
  auto reports = read_recordings(folder / "flight", request.now, inspection.notes);
  if (reports.empty())
    inspection.notes.push_back(
        "no flight recording: the trainer does not write one, or has not started its first step");
  for (int rank = 0; rank < std::min(request.ranks, 1 << 20); ++rank)
    reports.try_emplace(rank).first->second.rank = rank;
  for (auto& [rank, report] : reports) inspection.ranks.push_back(std::move(report));
  if (request.job.state == "RUNNING") {
    if (auto status = probe_processes(shell, request, inspection); !status)
      inspection.notes.push_back(orch::text(status.error()));
  }
  find_suspects(inspection.ranks);
  return inspection;
}

}  // namespace orch::launch
