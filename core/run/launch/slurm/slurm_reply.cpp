#include "core/run/launch/slurm/slurm_reply.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <string>

#include "core/base/text.h"

namespace orch::launch {
namespace {

using std::string_view_literals::operator""sv;
using SubmitReply = SubmitOutcome::Reply;

// SLURM's messages in src/common/slurm_errno.c, old and new.

// The request was never sent, or was rejected immediately.
constexpr std::array kUnreachable{
    "(connect failure)"sv,
    "Communication connection failure"sv,
    "Connection timed out establishing"sv,
    "in standby mode"sv,
    "Rate limit exceeded"sv,
    "Munge encode failed"sv,
    "Could not establish a configuration source"sv,
    "Unable to process configuration file"sv,
};

// It may have arrived: sending or receiving failed.
constexpr std::array kUnclear{
    "Socket timed out"sv,
    "(send failure)"sv,
    "(receive failure)"sv,
    "(shutdown failure)"sv,
    "Message send failure"sv,
    "Message receive failure"sv,
    "shutdown failure"sv,
    "Zero Bytes were transmitted"sv,
    "zero length message"sv,
    "message length"sv,
    "Failed to send entire"sv,
    "Header lengths"sv,
    "Unexpected message"sv,
    "Protocol authentication error"sv,
    "Connection reset"sv,
    "Broken pipe"sv,
    "Connection timed out"sv,
    "delayed socket error"sv,
    "missing socket"sv,
    "Unspecified error"sv,
    "shutting down and closing"sv,
    "Incompatible versions"sv,
};

// The queue is full, or submitting is disabled for a while.
constexpr std::array kNoRoom{
    "SubmitJob"sv,  // AssocMaxSubmitJobLimit, QOSMaxSubmitJobPerUserLimit, ...
    "Unable to create job record, try again"sv,
    "MaxJobCount limit reached"sv,
    "Resource temporarily unavailable"sv,
    "temporarily unable to accept job"sv,
    "System submissions disabled"sv,
    "I/O error writing script/environment to file"sv,
};

constexpr auto kPolicy = "violates accounting/QOS policy"sv;

template <std::size_t count>
bool has_any(std::string_view text, const std::array<std::string_view, count>& parts) {
  return std::ranges::any_of(parts,
                             [&](auto part) { return text.find(part) != std::string_view::npos; });
}

// "QOSMaxWallDurationPerJobLimit" on a separate line names a permanent limit.
bool names_limit(std::string_view text) {
  for (const auto prefix : {"error: QOS"sv, "error: Assoc"sv}) {
    const auto at = text.find(prefix);
    if (at == std::string_view::npos) continue;
    const auto next = at + prefix.size();
    if (next < text.size() && std::isalpha(static_cast<unsigned char>(text[next]))) return true;
  }
  return false;
}

SubmitReply outcome_of(std::string_view said) {
  if (has_any(said, kUnclear)) return SubmitReply::unclear;
  if (has_any(said, kUnreachable)) return SubmitReply::unreachable;
  if (has_any(said, kNoRoom)) return SubmitReply::no_room;
  if (said.find(kPolicy) != std::string_view::npos)
    return names_limit(said) ? SubmitReply::refused : SubmitReply::no_room;
  return SubmitReply::refused;
}

// The whole message in one line, without sbatch's name before each part.
std::string message_of(std::string_view err) {
  std::string message;
  for (const auto& line : split(err, '\n')) {
    std::string_view part = trim(line);
    for (const auto prefix : {"sbatch: "sv, "error: "sv, "fatal: "sv, "allocation failure: "sv})
      if (part.starts_with(prefix)) part.remove_prefix(prefix.size());
    if (part.empty()) continue;
    if (!message.empty()) message += "; ";
    message += printable(part);
  }
  return message.empty() ? "sbatch did not say why" : message;
}

}  // namespace

SubmitOutcome read_reply(const Output& output) {
  // Whatever else failed: an id exists only for accepted jobs.
  if (const auto job = record::parse_answer(output.out); job && job->find('.') == job->npos)
    return {SubmitReply::accepted, *job, ""};
  if (output.timed_out)
    return {SubmitReply::unclear, "", "sbatch did not end in time: " + message_of(output.err)};
  if (output.code > 128)
    return {SubmitReply::unclear, "",
            fmt::format("sbatch was killed by signal {}", output.code - 128)};
  if (output.code == 0)
    return {SubmitReply::unclear, "", "sbatch succeeded, but printed no job id"};
  // sbatch may have died, without a message, after its job was accepted.
  if (trim(output.err).empty())
    return {SubmitReply::unclear, "",
            fmt::format("sbatch exited with code {} and printed nothing", output.code)};
  return {outcome_of(output.err), "", message_of(output.err)};
}

}  // namespace orch::launch
