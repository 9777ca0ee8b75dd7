#include "core/run/launch/slurm/slurm_client.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>

#include "core/base/text.h"
#include "core/run/launch/process_shell.h"
#include "core/run/launch/slurm/slurm_history.h"

namespace orch::launch {
namespace {

constexpr double kTimeoutSeconds = 60;  // a busy controller is slow; SLURM's own limit is 10 s
constexpr std::size_t kIdsPerQuestion = 10000;  // the kernel limits an argument to 128 KiB
constexpr std::size_t kWordsPerCancel = 1000;

bool has(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

Error failure(const std::string& program, const Output& output) {
  const auto fact =
      output.timed_out ? std::string("did not answer in time") : "failed: " + complaint_of(output);
  return {program, fact, "check that SLURM answers: scontrol ping"};
}

Result<std::string> ask(Shell& shell, std::vector<std::string> words) {
  Command command;
  command.argv = std::move(words);
  command.timeout_seconds = kTimeoutSeconds;
  auto output = shell.run(command);
  if (!output) return output.error();
  if (output->timed_out || output->code != 0) return failure(command.argv[0], *output);
  // squeue exits with 0 and prints empty lines.
  if (has(output->err, "Invalid job format specification"))
    return failure(command.argv[0], *output);
  return std::move(output->out);
}

// Time in sacct's format: local time.
std::string slurm_moment(double time) {
  const auto seconds = static_cast<std::time_t>(time);
  std::tm parts{};
  ::localtime_r(&seconds, &parts);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &parts);
  return text;
}

bool is_harmless(std::string_view line) {
  return trim(line).empty() || has(line, "Invalid job id specified") ||
         has(line, "already completing or completed") || has(line, "Job has already finished");
}

}  // namespace

Result<std::vector<JobRow>> SlurmClient::queue(const std::string& comment_prefix) {
  auto text = ask(shell_, {"squeue", "--all", fmt::format("--user={}", ::getuid()), "--states=all",
                           "--array", "--noheader", fmt::format("--Format={}", kQueueFields)});
  if (!text) return text.error();
  return parse_queue(*text, comment_prefix);
}

Result<std::vector<JobRow>> SlurmClient::ask_accounting(const std::vector<std::string>& which) {
  std::vector<std::string> words{
      "sacct", "--noheader", "--parsable2", "--duplicates",
      fmt::format("--delimiter={}", kAccountingSeparator),
      // If SubmitLine is not supported, another field is queried in its place.
      fmt::format("--format={},{}", kAccountingFields, no_submit_line_ ? "JobName" : "SubmitLine")};
  words.insert(words.end(), which.begin(), which.end());
  Command command;
  command.argv = std::move(words);
  command.timeout_seconds = kTimeoutSeconds;
  auto output = shell_.run(command);
  no_accounting_ = !output || has(output->err, "accounting storage is disabled");
  if (!output) return output.error();
  if (!no_submit_line_ && has(output->err, "Invalid field")) {
    no_submit_line_ = true;
    return ask_accounting(which);
  }
  if (output->timed_out || output->code != 0) return failure("sacct", *output);
  return parse_accounting(output->out);
}

Result<std::vector<JobRow>> SlurmClient::accounting(const std::vector<std::string>& jobs) {
  std::vector<JobRow> rows;
  for (std::size_t from = 0; from < jobs.size(); from += kIdsPerQuestion) {
    const auto count = std::min(kIdsPerQuestion, jobs.size() - from);
    auto some = ask_accounting({"--jobs=" + join(std::span(jobs).subspan(from, count), ",")});
    if (!some) return some.error();
    std::ranges::move(*some, std::back_inserter(rows));
  }
  return rows;
}

Result<std::vector<JobRow>> SlurmClient::accounting_since(double time) {
  return ask_accounting(
      {"--allocations", fmt::format("--user={}", ::getuid()), "--starttime=" + slurm_moment(time)});
}

Result<std::string> SlurmClient::history_since(double time) {
  return ask(shell_, {"sacct", "--parsable2", "--allocations", "--duplicates",
                      fmt::format("--user={}", ::getuid()), "--starttime=" + slurm_moment(time),
                      fmt::format("--format={}", kHistoryFields)});
}

Status SlurmClient::cancel(const std::vector<std::string>& jobs) {
  for (std::size_t from = 0; from < jobs.size(); from += kWordsPerCancel) {
    const auto count = std::min(kWordsPerCancel, jobs.size() - from);
    Command command;
    command.argv = {"scancel"};
    command.argv.insert(command.argv.end(), jobs.begin() + static_cast<std::ptrdiff_t>(from),
                        jobs.begin() + static_cast<std::ptrdiff_t>(from + count));
    command.timeout_seconds = kTimeoutSeconds;
    const auto output = shell_.run(command);
    if (!output) return output.error();
    if (output->timed_out) return failure("scancel", *output);
    if (output->code != 0 && !std::ranges::all_of(split(output->err, '\n'), is_harmless))
      return failure("scancel", *output);
  }
  return {};
}

Result<std::int64_t> SlurmClient::largest_array() {
  const auto config = ask(shell_, {"scontrol", "show", "config"});
  if (!config) return config.error();
  ClusterFacts facts;
  parse_config(*config, facts);
  return std::max<std::int64_t>(1, facts.max_array_size);
}

Result<ClusterFacts> SlurmClient::facts() {
  const auto config = ask(shell_, {"scontrol", "show", "config"});
  if (!config) return config.error();
  const auto partitions = ask(shell_, {"scontrol", "--all", "--oneliner", "show", "partition"});
  if (!partitions) return partitions.error();
  const auto nodes =
      ask(shell_, {"sinfo", "--all", "--noheader", fmt::format("--format={}", kNodeFields)});
  if (!nodes) return nodes.error();
  ClusterFacts facts;
  parse_config(*config, facts);
  facts.partitions = parse_partitions(*partitions);
  facts.nodes = parse_nodes(*nodes);
  return facts;
}

SlurmAnswer probe_slurm(Shell& shell) {
  Command ping;
  ping.argv = {"scontrol", "ping"};
  ping.timeout_seconds = 15;  // it gives up by itself after about ten
  const auto answer = shell.run(ping);
  if (!answer) return SlurmAnswer::absent;
  if (answer->timed_out) return SlurmAnswer::unreachable;
  // SLURM is installed but not configured.
  if (answer->err.find("Could not establish a configuration source") != std::string::npos)
    return SlurmAnswer::absent;
  if (answer->code != 0) return SlurmAnswer::unreachable;
  Command version;
  version.argv = {"sbatch", "--version"};
  return shell.run(version) ? SlurmAnswer::reachable : SlurmAnswer::absent;
}

}  // namespace orch::launch
