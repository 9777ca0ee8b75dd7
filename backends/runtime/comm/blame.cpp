#include "backends/runtime/comm/blame.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <sstream>

#include "core/base/flight.h"

namespace orch::train {
namespace {

std::string read_link(const char* path) {
  char text[128] = {};
  const auto size = ::readlink(path, text, sizeof text - 1);
  return size > 0 ? std::string(text, static_cast<std::size_t>(size)) : "-";
}

std::string place(const Sighting& sighting) {
  return sighting.where.pid == 0
             ? std::string()
             : fmt::format("process {} on {}", sighting.where.pid, sighting.where.host);
}

std::string with_last_seen(std::string text, const Sighting& sighting) {
  return sighting.last_seen.empty() ? text : text + ", " + sighting.last_seen;
}

// Of one that says nothing.
std::string silence(const Sighting& sighting) {
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

// Of one that cannot come any more; empty if it can.
std::string absence(const Sighting& sighting) {
  if (!sighting.failed.empty())
    return fmt::format("rank {} failed: {}", sighting.rank, sighting.failed);
  if (sighting.answered) return {};
  if (sighting.left)
    return with_last_seen(fmt::format("rank {} has left", sighting.rank), sighting);
  return with_last_seen(silence(sighting), sighting);
}

std::string doing(const Sighting& sighting) {
  std::vector<std::string> inside;
  for (const auto& [group, entered] : sighting.entered)
    if (entered.is_inside) inside.push_back(name_of(entered));
  const auto step = sighting.step < 0 ? std::string() : fmt::format(" in step {}", sighting.step);
  if (inside.empty()) return fmt::format("is{} and in no collective", step);
  return fmt::format("is{} in {}", step, fmt::join(inside, " and "));
}

// Of one that could come but has not, or that came to something else; empty if it is not to blame.
std::string delay(const Entered& here, const Sighting& sighting) {
  const bool is_member =
      here.peer >= 0 ? sighting.rank == here.peer
                     : std::count(here.members.begin(), here.members.end(), sighting.rank) > 0;
  if (!is_member) return {};
  if (here.peer >= 0) return fmt::format("rank {} {}", sighting.rank, doing(sighting));
  const auto found = sighting.entered.find(here.group);
  if (found == sighting.entered.end() || found->second.sequence < here.sequence)
    return fmt::format("rank {} has not entered it: it {}", sighting.rank, doing(sighting));
  const auto& there = found->second;
  if (there.sequence == here.sequence && (there.kind != here.kind || there.bytes != here.bytes))
    return fmt::format("rank {} entered {} with {} bytes instead", sighting.rank, name_of(there),
                       there.bytes);
  return {};
}

}  // namespace

std::string Whereabouts::pack() const {
  return fmt::format("{} {} {} {}", pid, world, pid_namespace, host);
}

Whereabouts Whereabouts::unpack(const std::string& text) {
  Whereabouts where;
  std::istringstream(text) >> where.pid >> where.world >> where.pid_namespace >> where.host;
  return where;
}

Whereabouts Whereabouts::own(int world) {
  char host[65] = {};
  ::gethostname(host, sizeof host - 1);
  return {::getpid(), host, read_link("/proc/self/ns/pid"), world};
}

ProcessState Whereabouts::look() const {
  const auto here = own(0);
  if (pid == 0 || host != here.host || pid_namespace != here.pid_namespace)
    return ProcessState::unknown;
  std::ifstream file(fmt::format("/proc/{}/stat", pid));
  std::string text;
  if (!std::getline(file, text)) return ProcessState::gone;
  const auto name_end = text.rfind(')');  // the name before it may hold anything
  const char state = name_end + 2 < text.size() ? text[name_end + 2] : '?';
  if (state == 'Z' || state == 'X') return ProcessState::gone;  // dead, not yet buried
  return state == 'T' || state == 't' ? ProcessState::stopped : ProcessState::running;
}

std::string name_of(const Entered& entered) {
  return fmt::format("{} #{} of '{}'", entered.kind, entered.sequence, entered.group);
}

std::string blame(const Entered& here, const std::vector<Sighting>& others) {
  std::vector<std::string> culprits;
  for (const auto& other : others)
    if (auto text = absence(other); !text.empty()) culprits.push_back(std::move(text));
  if (culprits.empty())
    for (const auto& other : others)
      if (auto text = delay(here, other); !text.empty()) culprits.push_back(std::move(text));
  if (culprits.empty()) return "all ranks are there: the network between them fails or is slow";
  return fmt::format("{}", fmt::join(culprits, "; "));
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
