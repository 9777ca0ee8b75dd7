#include "core/run/launch/local/local_executor.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "core/base/descriptor.h"
#include "core/base/room.h"
#include "core/base/text.h"
#include "core/run/launch/local/local_machine.h"
#include "core/run/launch/local/local_start.h"
#include "core/run/launch/local/local_tasks.h"

namespace orch::launch {
namespace {

constexpr std::size_t kTail = 2000;  // characters of a log that a message may quote

std::string tail(const fs::path& log) {
  const auto text = read_file(log);
  if (!text) return {};
  const auto trimmed = trim(*text);
  return std::string(trimmed.substr(trimmed.size() > kTail ? trimmed.size() - kTail : 0));
}

// Made, never written to: whoever comes first, the mark is the same.
Status mark(const fs::path& file) {
  const Descriptor made(::open(file.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644));
  return made.is_open() ? Status() : file_error(file, "cannot create", errno);
}

}  // namespace

fs::path LocalExecutor::folder_of(const std::string& submission) const {
  return options_.experiment_folder / "submissions" / submission;
}

Status LocalExecutor::test(const Request& request) {
  Errors errors;
  if (!request.after.empty())
    errors.push_back({request.job_name, "a local run does not wait for another job",
                      "submit all its phases as one"});
  for (const auto& id : request.submission->runs) {
    const auto run = read_local_run(options_.experiment_folder / id);
    const auto found = run ? check_local_run(*run, options_.trainers) : run.error();
    errors.insert(errors.end(), found.begin(), found.end());
  }
  return errors.empty() ? Status() : Status(errors);
}

Submitted LocalExecutor::submit(const Request& request) {
  using Reply = Submitted::Reply;
  if (!request.after.empty())
    return {Reply::refused, "", "a local run does not wait for another job"};
  auto argv = options_.supervisor;
  argv.push_back(request.folder.string());
  const auto log = request.folder / "supervisor.log";
  const auto outcome = start_detached(argv, log, request.lock, options_.answer_seconds);
  if (!outcome.started && !read_answer(request.folder))
    return {Reply::refused, "",
            fmt::format("cannot start {}: {}", printable(argv.front()), outcome.error)};
  if (const auto job = read_answer(request.folder)) return {Reply::accepted, *job, ""};
  if (!outcome.heard)
    return {Reply::unclear, "",
            fmt::format("no word from the supervisor in {:.0f} s", options_.answer_seconds)};
  return {Reply::refused, "", "the supervisor left: " + tail(log)};
}

Result<std::optional<std::string>> LocalExecutor::find(const record::Submission& submission) {
  return read_answer(folder_of(submission.id));
}

Result<record::JobFacts> LocalExecutor::poll(const std::vector<const record::Submission*>& of) {
  record::JobFacts facts;
  for (const auto* submission : of) poll_one(*submission, facts);
  return facts;
}

void LocalExecutor::poll_one(const record::Submission& submission, record::JobFacts& facts) const {
  const auto folder = folder_of(submission.id);
  const auto job = read_answer(folder);
  if (!job) return;
  const auto note = read_note(folder);
  const auto host = note.host.empty() ? host_name() : note.host;
  // From another host its process cannot be seen, so its files are believed. Looked at before the
  // files: what one that is gone has left will not change any more.
  const bool alive = host != host_name() || is_alive(*parse_supervisor_id(*job));
  for (std::size_t index = 0; index < submission.runs.size(); ++index) {
    const auto read = read_task(folder, index);
    const auto task = read ? *read : std::nullopt;
    auto fact = task.value_or(record::JobFact());
    if (fact.end == 0 && !alive) {
      fact.state = "NODE_FAIL";
      fact.reason = "the supervisor is gone";
    } else if (!task) {
      fact.state = "PENDING";
      fact.reason = note.waits_for.empty() ? "waiting for the runs before it" : note.waits_for;
    } else if (fact.end == 0) {
      fact.elapsed_seconds = std::max(0.0, clock_.now() - fact.start);
    }
    fact.job = task_job(*job, submission.array, index);
    fact.nodes = host;
    facts[{submission.id, index}] = std::move(fact);
  }
}

Status LocalExecutor::cancel(const std::vector<record::JobFact>& tasks) {
  Errors errors;
  std::error_code code;
  const auto submissions = options_.experiment_folder / "submissions";
  for (const auto& folder : entries_of(submissions, code)) {
    const auto job = read_answer(folder);
    for (const auto& task : tasks) {
      const auto [supervisor, index] = parse_task_job(task.job);
      if (!job || *job != supervisor) continue;
      if (auto status = mark(cancel_mark(folder, index)); !status)
        errors.insert(errors.end(), status.error().begin(), status.error().end());
    }
  }
  if (code) return file_error(submissions, "cannot read", code.value());
  return errors.empty() ? Status() : Status(errors);
}

}  // namespace orch::launch
