#pragma once

#include <optional>
#include <string>
#include <utility>

#include "core/record/record.h"
#include "core/record/verdict.h"

namespace orch::record {

// A run in its folder: what happened to it so far, and what going on with it takes.
struct LiveRun {
  // Its fields are strategy, cluster, gpus, nodes and accumulate. What is measured has the steps
  // that the job does and the GPU-hours used so far; those of the estimate are of the job.
  Record record;
  // "tensor_parallel=2 dtype=fp32": its layout, and settings other than the defaults.
  std::string variant;
  int phases = 0;  // job scripts: job.sbatch, job-2.sbatch, ...; 0: none, a local run

  // state.json, with the record's state: written when that changes for good (an end, an order to
  // cancel), so that it outlives what SLURM remembers.
  bool heard = true;          // see Verdict; what is on disk was heard
  bool cancel_asked = false;  // by orch cancel; a resume leaves it alone, a retry does not
  // The submission that orch cancels because it hangs, noted before the executor hears of it: how
  // the job then ends, and who says so first, has no say in the reason. Another step than the last
  // one then shows that the order did not get through.
  struct CancelledHang {
    std::string submission, reason;
    std::int64_t step = 0;
  };
  std::optional<CancelledHang> cancelled_hang;
  int retries_from = 0;        // submissions before this many do not count against the limit
  double elapsed_seconds = 0;  // of the last attempt
  std::string submission;      // the last one, of which the state is

  std::int64_t gpus() const { return record.whole("gpus").value_or(0); }
  double gpu_hours() const { return record.measured.gpu_hours.value_or(0); }  // used so far
  double estimated_hours() const { return record.estimated ? record.estimated->gpu_hours : 0; }
  double estimated_step() const { return record.estimated ? record.estimated->step_seconds : 0; }

  void take(const Verdict& verdict) {
    record.state = verdict.state;
    record.failure = verdict.failure;
    record.reason = verdict.reason;
    heard = verdict.heard;
  }
  // How far it got.
  void take(Measurement found) {
    found.steps_planned = record.measured.steps_planned;
    found.gpu_hours = record.measured.gpu_hours;
    record.measured = std::move(found);
  }
  // As if nobody had submitted it; what was measured and used stays.
  void forget() {
    take(Verdict{});
    cancel_asked = false;
    cancelled_hang.reset();
    retries_from = 0;
    elapsed_seconds = record.origin.end = 0;
    submission.clear();
  }
};

}  // namespace orch::record
