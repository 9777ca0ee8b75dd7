#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "core/record/ingest/notes.h"

namespace orch::ingest {

// Divides one log into runs, in order. A start is the part of a log from a line that begins a run
// to the first step. At that step, the start becomes either a continuation of the previous run (if
// the settings are the same) or a new run. A start that never reaches a step is kept, separate from
// the next one.
class LogSession {
 public:
  // Calls hand_on with the runs in order, each as soon as it is known to be over. An empty run is
  // left out, unless it has failed or was cancelled and with_ends is true.
  explicit LogSession(std::function<void(LoggedRun&)> hand_on, bool with_ends = false)
      : hand_on_(std::move(hand_on)), with_ends_(with_ends) {}
  // Takes the values that one rule read from one line.
  void take(const Rule& rule, const TargetValues& values, const TextPlace& where);
  // True if the next line of timers should be read. In a long run a median needs only a sample.
  bool wants_timers() const;
  // Handles the end of the log.
  void finish();
  // The run that was read last, or null if it is over.
  const LoggedRun* latest() const {
    const bool begun = open_ && (open_->has_steps() || waiting_.empty());
    return begun ? open_.get() : waiting_.empty() ? nullptr : waiting_.back().get();
  }
  // The most severe failure that no steps followed, in any run and however that run ended.
  const FailureSign& sign() const { return sign_; }
  // Frameworks whose lines occur only in runs that were left out as empty.
  const std::set<std::string>& unread() const { return unread_; }
  std::uint64_t left_out() const { return left_out_; }  // number of runs beyond the limit

 private:
  LoggedRun& current();
  void begin(const Rule& rule, const TextPlace& where);
  void take_step(const Rule& rule, const TargetValues& values, const TextPlace& where);
  // Handles a step that is not after the last one: a new run, or the same run resumed.
  void fall_back(const Rule& rule, const TargetValues& values, const TextPlace& where,
                 std::int64_t step);
  // The run of a step with these values. Waiting starts become runs or parts of one.
  LoggedRun& run_of_step(const TargetValues& values);
  void fold();
  // Assigns all waiting starts. `first` has the values of the first step of the last one, or is
  // null if it had none.
  void settle_all(const TargetValues* first);
  void settle(std::unique_ptr<LoggedRun> start, const TargetValues* first);
  // True if a start with the same settings as the previous run is a new run.
  bool is_repeat(const LoggedRun& start, const TargetValues& first) const;
  void close(std::unique_ptr<LoggedRun> run);

  std::unique_ptr<LoggedRun> open_;
  std::vector<std::unique_ptr<LoggedRun>> waiting_;
  std::function<void(LoggedRun&)> hand_on_;
  std::set<std::string> unread_;
  bool with_ends_;
  std::uint64_t done_ = 0, left_out_ = 0;
  FailureSign sign_;
};

}  // namespace orch::ingest
