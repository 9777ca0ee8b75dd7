#pragma once

#include <optional>
#include <string>

#include "core/base/clock.h"
#include "core/run/launch/local/local_tasks.h"
#include "core/run/launch/local/supervisor.h"
#include "core/run/launch/local/supervisor_attempt.h"
#include "core/run/launch/local/supervisor_ranks.h"
#include "core/run/launch/local/supervisor_signals.h"
#include "core/run/launch/process_shell.h"

namespace orch::launch {

// One run under a supervisor, from the creation of an attempt to its final status.
class SupervisedRun {
 public:
  SupervisedRun(const SupervisorFolder& submission, std::size_t index,
                const SupervisorOptions& options, SupervisorSignals& signals);

  // Returns what it has written to task.<n>.json.
  record::JobFact work();

 private:
  enum class RunStop { none, cancelled, time, memory, failed, deserted };

  record::JobFact conclude(const char* word, const char* state, int code,
                           const std::string& message);
  std::optional<record::JobFact> prepare();
  std::optional<record::JobFact> check_node();
  record::JobFact train();
  record::JobFact judge(const Ranks& ranks);
  record::JobFact stopped();

  void heed(Ranks& ranks);  // checks all reasons to end the ranks early
  void heed_time(Ranks& ranks);
  void heed_memory(Ranks& ranks);
  void heed_ends(Ranks& ranks);
  void warn(Ranks& ranks, const std::string& why);  // sends USR1, once
  void finish(Ranks& ranks, RunStop why, const std::string& message, int number);
  bool stop_asked() const;
  std::string changed_file() const;
  bool cancel_asked();
  void note_event(std::string line, bool all_ended);
  void say(const std::string& line);

  const SupervisorFolder& submission_;
  const std::size_t index_;
  const SupervisorOptions& options_;
  SupervisorSignals& signals_;
  SystemClock clock_;
  ProcessShell shell_;
  fs::path folder_;
  LocalRun run_;
  std::optional<LocalAttempt> attempt_;
  std::unique_ptr<RankLog> log_;
  record::JobFact task_;
  double began_ = 0;  // steady
  double looked_at_memory_ = 0;
  double looked_for_stop_ = 0;
  double kill_at_ = 0;
  std::uint64_t memory_limit_ = 0;
  std::uint64_t oom_kills_ = 0;
  bool warned_ = false;
  RunStop why_ = RunStop::none;
  std::string because_;
};

}  // namespace orch::launch
