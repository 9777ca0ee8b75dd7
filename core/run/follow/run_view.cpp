#include "core/run/follow/run_view.h"

#include <algorithm>

namespace orch::follow {

using record::Failure;
using record::RunState;

bool is_open(const FollowedRun& view) {
  const auto state = view.record.state;
  return state == RunState::pending || state == RunState::running ||
         ((is_final(state) || !view.heard) && !view.settled && view.damage.empty());
}

int tries(const FollowedRun& view, const Ledger& ledger) {
  const auto& entries = ledger.of(view.record.id);
  int count = 0;
  for (auto i = static_cast<std::size_t>(view.retries_from); i < entries.size(); ++i) {
    const auto& submission = ledger.at(entries[i]).submission;
    if (submission.phase != view.phase) continue;
    const bool saved = std::any_of(
        view.attempts.begin(), view.attempts.end(), [&](const record::Attempt& attempt) {
          return attempt.submission == submission.id && attempt.state == "stopped" &&
                 attempt.message.find("before the training began") == std::string::npos;
        });
    count += !saved;
  }
  return count;
}

namespace {

// After a time limit, another try can get further only if something was saved.
bool may_succeed(const FollowedRun& view) {
  const auto failure = view.record.failure;
  return record::is_transient(failure) || (failure == Failure::timeout && view.has_checkpoint);
}

}  // namespace

bool is_due(const FollowedRun& view, const Ledger& ledger, const FollowLimits& options) {
  if (view.cancel_asked || view.stop_file || !view.damage.empty()) return false;
  switch (view.record.state) {
    case RunState::planned:
      return view.wanted;
    case RunState::stopped:
      return (view.heard || view.settled) && tries(view, ledger) <= options.retries;
    case RunState::failed:
      if (!view.settled) return false;
      return may_succeed(view) && tries(view, ledger) <= options.retries;
    default:
      return false;
  }
}

namespace {

// Clocks of hosts differ: never negative.
double seconds_of(const FollowedRun& view, const record::Attempt& attempt, double now) {
  const bool runs = view.record.state == RunState::running && &attempt == &view.attempts.back();
  const double end = attempt.end > 0 ? attempt.end : runs ? now : attempt.seen;
  return attempt.start > 0 ? std::max(0.0, end - attempt.start) : 0;
}

}  // namespace

double elapsed(const FollowedRun& view, double now) {
  return view.attempts.empty() ? 0 : seconds_of(view, view.attempts.back(), now);
}

double gpu_hours_used(const FollowedRun& view, double now) {
  double hours = 0;
  for (const auto& attempt : view.attempts) {
    const auto gpus = attempt.gpus > 0 ? attempt.gpus : view.gpus();
    hours += seconds_of(view, attempt, now) / 3600 * static_cast<double>(gpus);
  }
  return std::max(hours, view.job ? view.job->gpu_hours : 0);
}

}  // namespace orch::follow
