#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "core/record/ingest/notes.h"

namespace orch::ingest {

// The runs of one log, in order: decides what belongs to which. A start is what is said from a line
// that begins a run to the first step; when that step comes, the start either continues the run
// before it (the same settings) or is a run of its own. A start that never gets to a step is
// neither lost nor mixed with the next one.
class LogSession {
 public:
  // Runs are handed on in order, each as soon as it is known to be over.
  // A run that says nothing is left out, but for one that ended where such are asked for.
  explicit LogSession(std::function<void(LoggedRun&)> hand_on, bool with_ends = false)
      : hand_on_(std::move(hand_on)), with_ends_(with_ends) {}
  // What one line says by one rule.
  void take(const Rule& rule, const TargetValues& values, const TextPlace& where);
  // Whether a line of timers is worth reading: a median does not need those of a million steps.
  bool wants_timers() const;
  // The log is at its end.
  void finish();
  // The run that was told of last, and is not over; null: there is none.
  const LoggedRun* latest() const {
    const bool begun = open_ && (open_->has_steps() || waiting_.empty());
    return begun ? open_.get() : waiting_.empty() ? nullptr : waiting_.back().get();
  }
  // The gravest sign of a failure that no steps came after, whatever run it is of and however that
  // ended.
  const FailureSign& sign() const { return sign_; }
  // Frameworks whose lines there were, and of no run that says anything.
  const std::set<std::string>& unread() const { return unread_; }
  std::uint64_t left_out() const { return left_out_; }  // runs, beyond as many as are kept

 private:
  LoggedRun& current();
  void begin(const Rule& rule, const TextPlace& where);
  void take_step(const Rule& rule, const TargetValues& values, const TextPlace& where);
  // Steps that fall back: a run of its own, or the same one resumed.
  void fall_back(const Rule& rule, const TargetValues& values, const TextPlace& where,
                 std::int64_t step);
  // A step has come: the starts that waited become runs, or parts of one.
  LoggedRun& run_of_step(const TargetValues& values);
  void fold();
  // The first step of the last start has come with these values; null: none came.
  void settle_all(const TargetValues* first);
  void settle(std::unique_ptr<LoggedRun> start, const TargetValues* first);
  // Whether a start that says the same as the run before it is a run of its own.
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
