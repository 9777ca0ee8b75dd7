#pragma once

#include <optional>
#include <string>
#include <utility>

#include "core/record/record.h"
#include "core/record/verdict.h"

namespace orch::record {

// A run in its folder: what happened to it so far, and what is needed to continue it.
struct LiveRun {
  // Its fields are strategy, cluster, gpus, nodes and accumulate. The measurement has the steps
  // that the job does and the GPU-hours used so far; the estimate is for the whole job.
  Record record;
  // "tensor_parallel=2 dtype=fp32": its layout, and settings that differ from their defaults.
  std::string variant;
  int phases = 0;  // number of job scripts: job.sbatch, job-2.sbatch, ...; 0: a local run

  // The content of state.json, with the record's state: written when that changes for good (an end,
  // an order to cancel), so that it outlives SLURM's memory.
  bool heard = true;          // see StateVerdict; true for states from disk
  bool cancel_asked = false;  // by orch cancel; a resume does not undo it, a retry does
  // The submission that orch cancels because it hangs, recorded before the cancellation: the reason
  // stays, however the job then ends. A step beyond the last one shows that the cancellation
  // failed.
  struct CancelledHang {
    std::string submission, reason;
    std::int64_t step = 0;
  };
  std::optional<CancelledHang> cancelled_hang;
  int retries_from = 0;        // submissions before this index do not count as tries
  double elapsed_seconds = 0;  // elapsed in the last attempt
  std::string submission;      // the last one, which determines the state

  std::int64_t gpus() const { return record.whole("gpus").value_or(0); }
  double gpu_hours() const { return record.measured.gpu_hours.value_or(0); }  // used so far
  double estimated_hours() const { return record.estimated ? record.estimated->gpu_hours : 0; }
  double estimated_step() const { return record.estimated ? record.estimated->step_seconds : 0; }

  void take(const StateVerdict& verdict) {
    record.state = verdict.state;
    record.failure = verdict.failure;
    record.reason = verdict.reason;
    heard = verdict.heard;
  }
  // Adds the measured progress.
  void take(Measurement found) {
    found.steps_planned = record.measured.steps_planned;
    found.gpu_hours = record.measured.gpu_hours;
    record.measured = std::move(found);
  }
  // Resets the run as if it had never been submitted; measurements and used hours stay.
  void forget() {
    take(StateVerdict{});
    cancel_asked = false;
    cancelled_hang.reset();
    retries_from = 0;
    elapsed_seconds = record.origin.end = 0;
    submission.clear();
  }
};

}  // namespace orch::record
