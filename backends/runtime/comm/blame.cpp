#include "backends/runtime/comm/blame.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <sstream>

#include "core/base/flight.h"
#include "core/base/room.h"
#include "core/base/text.h"

namespace orch::train {
namespace {

constexpr std::size_t kNamed = 8;  // ranks named in one message

std::string read_link(const char* path) {
  char text[128] = {};
  const auto size = ::readlink(path, text, sizeof text - 1);
  return size > 0 ? std::string(text, static_cast<std::size_t>(size)) : "-";
}

std::string place(const RankStatus& sighting) {
  return sighting.where.pid == 0
             ? std::string()
             : fmt::format("process {} on {}", sighting.where.pid, sighting.where.host);
}

std::string with_last_seen(std::string text, const RankStatus& sighting) {
  return sighting.last_seen.empty() ? text : text + ", " + sighting.last_seen;
}

// Describes a rank that does not answer.
std::string silence(const RankStatus& sighting) {
  const auto where = place(sighting);
  switch (sighting.process) {
    case ProcessState::gone:
      return fmt::format("rank {} is gone ({})", sighting.rank, where);
    case ProcessState::stopped:
      return fmt::format("rank {} does not answer ({}, which is stopped)", sighting.rank, where);
    case ProcessState::running:
      return fmt::format("rank {} does not answer ({}, which still runs)", sighting.rank, where);
    case ProcessState::unknown:
      break;
  }
  return fmt::format("rank {} does not answer{}", sighting.rank,
                     where.empty() ? "" : fmt::format(" ({})", where));
}

// Describes a rank that cannot take part any more; empty if it can.
std::string absence(const RankStatus& sighting) {
  if (!sighting.failed.empty())
    return fmt::format("rank {} failed: {}", sighting.rank, sighting.failed);
  if (sighting.answered) return {};
  if (sighting.left)
    return with_last_seen(fmt::format("rank {} has left", sighting.rank), sighting);
  return with_last_seen(silence(sighting), sighting);
}

std::string doing(const RankStatus& sighting) {
  std::vector<std::string> waits;
  for (const auto& [group, entered] : sighting.entered)
    if (entered.is_inside && entered.is_waited) waits.push_back(name_of(entered));
  const auto step = sighting.step < 0 ? std::string() : fmt::format(" in step {}", sighting.step);
  if (waits.empty()) return fmt::format("is{} and in no collective", step);
  return fmt::format("is{} in {}", step, and_list(waits));
}

bool has_entered(const EnteredCollective& what, const RankStatus& sighting) {
  const auto found = sighting.entered.find(what.group);
  return found != sighting.entered.end() && found->second.sequence >= what.sequence;
}

// The ranks without which it cannot end: the other end of a message, or those that have not entered
// a collective.
std::vector<const RankStatus*> awaited(const EnteredCollective& what,
                                       const std::vector<RankStatus>& others) {
  std::vector<const RankStatus*> missing;
  for (const auto& other : others) {
    const bool is_member = std::count(what.members.begin(), what.members.end(), other.rank) > 0;
    const bool is_awaited = what.peer >= 0 ? other.rank == what.peer : is_member;
    if (is_awaited && !has_entered(what, other)) missing.push_back(&other);
  }
  return missing;
}

// Follows the chain from a rank to the one it waits for, up to one that waits for no other. Links
// are listed from the end: "rank 3 is …; rank 2 waits for it in recv #4 of 'down 2→3'".
std::string follow(const RankStatus* at, const std::vector<RankStatus>& others,
                   const std::string& first) {
  std::vector<std::string> links;
  std::vector<const RankStatus*> seen;
  for (bool is_end = false; !is_end;) {
    is_end = true;
    seen.push_back(at);
    for (const auto& [group, entered] : at->entered) {
      if (!entered.is_inside || !entered.is_waited) continue;
      const auto next = awaited(entered, others);
      if (next.empty() || std::count(seen.begin(), seen.end(), next.front()) > 0) continue;
      links.push_back(fmt::format("rank {} waits for it in {}", at->rank, name_of(entered)));
      at = next.front();
      is_end = false;
      break;
    }
  }
  if (links.empty()) return first;
  std::reverse(links.begin(), links.end());
  return fmt::format("rank {} {}; {}", at->rank, doing(*at), fmt::join(links, "; "));
}

// Describes ranks that could take part but have not, or that entered another collective.
std::vector<std::string> delays(const EnteredCollective& here,
                                const std::vector<RankStatus>& others) {
  std::vector<std::string> found;
  for (const auto* other : awaited(here, others)) {
    const auto text = fmt::format("rank {} {}{}", other->rank,
                                  here.peer >= 0 ? "" : "has not entered it: it ", doing(*other));
    found.push_back(follow(other, others, text));
  }
  if (here.peer >= 0) return found;
  for (const auto& other : others) {
    const auto entered = other.entered.find(here.group);
    if (entered == other.entered.end()) continue;
    const auto& there = entered->second;
    const bool is_other = there.kind != here.kind || there.bytes != here.bytes;
    if (there.sequence == here.sequence && is_other && there.members == here.members)
      found.push_back(fmt::format("rank {} entered {} with {} bytes instead", other.rank,
                                  name_of(there), there.bytes));
  }
  return found;
}

}  // namespace

std::string RankProcessId::pack() const {
  return fmt::format("{} {} {} {}", pid, world, pid_namespace, host);
}

RankProcessId RankProcessId::unpack(const std::string& text) {
  RankProcessId where;
  std::istringstream(text) >> where.pid >> where.world >> where.pid_namespace >> where.host;
  return where;
}

RankProcessId RankProcessId::own(int world) {
  return {::getpid(), host_name(), read_link("/proc/self/ns/pid"), world};
}

ProcessState RankProcessId::look() const {
  const auto here = own(0);
  if (pid == 0 || host != here.host || pid_namespace != here.pid_namespace)
    return ProcessState::unknown;
  std::ifstream file(fmt::format("/proc/{}/stat", pid));
  std::string text;
  if (!std::getline(file, text)) return ProcessState::gone;
  const auto name_end = text.rfind(')');  // the name before it may contain any character
  const char state = name_end + 2 < text.size() ? text[name_end + 2] : '?';
  if (state == 'Z' || state == 'X') return ProcessState::gone;  // dead, but not reaped yet
  return state == 'T' || state == 't' ? ProcessState::stopped : ProcessState::running;
}

std::string name_of(const EnteredCollective& entered) {
  return fmt::format("{} #{} of '{}'", entered.kind, entered.sequence, entered.group);
}

std::string blame(const EnteredCollective& here, const std::vector<RankStatus>& others) {
  std::vector<std::string> culprits;
  for (const auto& other : others)
    if (auto text = absence(other); !text.empty()) culprits.push_back(std::move(text));
  if (culprits.empty()) culprits = delays(here, others);
  if (culprits.empty()) return "all ranks are there: the network between them fails or is slow";
  std::vector<std::string> named;
  for (const auto& text : culprits)
    if (std::count(named.begin(), named.end(), text) == 0) named.push_back(text);
  const auto more = named.size() > kNamed ? named.size() - kNamed : 0;
  named.resize(named.size() - more);
  return fmt::format("{}{}", fmt::join(named, "; "),
                     more > 0 ? fmt::format("; and {} more ranks", more) : "");
}

std::string last_seen(const std::string& flight_folder, int rank) {
  if (flight_folder.empty()) return {};
  const auto recording = flight::read(flight_folder + "/" + flight::file_name(rank));
  if (!recording) return {};
  const auto step = recording->step < 0 ? std::string("before its first step")
                                        : fmt::format("in step {}", recording->step);
  if (recording->collectives.empty()) return "last seen " + step;
  const auto& last = recording->collectives.back();
  return fmt::format("last seen {}, {} {} of '{}' (its collective {}, {} bytes)", step,
                     last.end == 0 ? "in" : "after", last.kind, last.group, last.sequence,
                     last.bytes);
}

}  // namespace orch::train
