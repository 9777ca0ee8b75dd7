#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/base/files.h"
#include "core/record/facts.h"

namespace orch::events {

// attempts/<n>/events.jsonl, one object per line, appended by rank 0 as it happens:
//   {"event":"start","time":1763193600.1,"ranks":16}
//   {"event":"step","time":…,"step":12,"loss":3.21,"step_seconds":0.52,"tokens":393216,
//    "tokens_per_second":63015.4,"peak_memory_bytes":17179869184}
//   {"event":"checkpoint","time":…,"step":100}    {"event":"end","time":…,"step":500}
// Our own trainers write more:
//   start: "device", "torch" (its version), "parameters", "effective":{"attention":"sdpa",…}
//   step:  "gradient_norm", "learning_rate", "loss_scale", "skipped" (no update: an overflow),
//          "communicated_bytes" (passed to collectives since the attempt began, by the rank with
//          the most), "bubble" (mean share of the step for which pipeline stages were idle),
//          "joules" (of the run's GPUs since the attempt began, by their counters; in "end" too)
//   {"event":"evaluation","time":…,"step":100,"loss":3.4}    on held-out data
//   {"event":"checkpoint_failed","time":…,"step":100,"message":"…"}    training goes on
//   {"event":"profile","time":…,"step":50,"time_items":{"QKV":0.12,…},"memory_items":{…}}
//     seconds of one step and bytes of rank 0, by the estimator's names; the last one counts
//   {"event":"slow_rank","time":…,"step":120,"rank":3,"host":"n2","busy_seconds":0.6,
//    "typical_seconds":0.5,"since":100,"over":false}    it computes longer than the others of its
//     pipeline stage; told now and then while it is so, and when it is over
//   {"event":"gpus","time":…,"use":0.98,"watts":612.4,"gpus":8}    in a local run, by its
//   supervisor
//     every ten seconds, less often in a long run: the share of the last second in which a GPU was
//     busy, and its power; means over so many GPUs. Of a framework under SLURM, by the job script:
//     the mean of the first node's GPUs stands for those of all nodes
//   {"event":"machine","time":…,"others_share":0.04,"clock_mhz":2900}    in a local run, by its
//     supervisor when the ranks have ended: the share of the cores' time that other programs used
//     (for GPUs: their use before the run), and the clock of the device that computed
//   {"event":"failed","time":…,"class":"nan","message":"…"}    class: gpu_memory, host_memory,
//     nccl, data, nan, disk or bad_exit
// time:               seconds since 1970 by the trainer's clock
// step:               the number of the step that was just done, counted over all attempts from 1
// step_seconds:       duration of that step; if missing, the times of two lines are used
// tokens:             trained on so far, over all attempts
// tokens_per_second:  of that step, all ranks together; if missing, tokens and time are used
// peak_memory_bytes:  of the fullest rank, so far
// A line needs "event", a step "step" too; the rest may be missing or null. A trainer may write
// every n-th step only. It must write a line with a single write(), so that lines are not mixed.
// NaN, Infinity and numbers beyond a double count as missing. Unknown keys are skipped, and so are
// lines that are not JSON (the last one may be incomplete).

// The progress of an attempt; nothing before its first step. Reads at most the last 4 MiB of the
// file. now: the file system's own time (see file_system_now), for the age.
std::optional<record::TrainingProgress> read_progress(const fs::path& attempt_folder, double now);

// Reads the items of the last profile in the last 4 MiB of the attempt's events, by the estimator's
// names and without kinds. False: there is none.
bool read_profile(const fs::path& attempt_folder, record::Measurement& into);

// Merges the events of all attempts, each read completely, in their order. If a step was repeated
// by a later attempt, the later one counts. Fills the measurement, with the items of the last
// profile, start and end, and the versions of torch and device.
record::Record read_history(const std::vector<fs::path>& attempt_folders);

// What the time since a run's first start was spent on, in seconds: computing of steps that count,
// of steps that were made again, starting, saving, waiting between attempts, and the sum. The
// folders are those of the attempts. Empty for a single attempt that lost nothing between its
// steps, and where no step has a time.
std::vector<plan::EstimateItem> spent_time(const std::vector<fs::path>& attempt_folders,
                                           const std::vector<record::Attempt>& attempts);

// The energy of the run's GPUs over all attempts, in kWh: as counted by its trainer up to the last
// line that has it, else from the power that was asked for now and then, up to the attempt's end.
// Nothing if an attempt of more than a minute has neither.
std::optional<double> spent_kwh(const std::vector<fs::path>& attempt_folders,
                                const std::vector<record::Attempt>& attempts);

// The last event "failed" of an attempt, its message printable and cut to about 200 characters;
// empty if there is no such event. Failures that blame another rank (nccl) count only if there are
// no others.
record::FailureReport read_failure(const fs::path& attempt_folder);

// The time that the file system of a folder gives to a new file, because clocks of hosts differ.
// Falls back to our own clock.
double file_system_now(const fs::path& folder);

// Follows a growing log: returns the bytes since the last call, at most a few MiB at once.
class LogTail {
 public:
  // lines: number of last lines to begin with (searched in the last 16 MiB); -1: from the
  // beginning.
  LogTail(fs::path file, std::int64_t lines);
  // New text, possibly empty, and whether more is available now. A missing file has no text yet,
  // one that shrank is read again from its beginning.
  struct Chunk {
    std::string text;
    bool more = false;
  };
  Chunk next();

 private:
  fs::path file_;
  std::int64_t lines_;
  std::int64_t at_ = -1;
};

// Only the lines of one rank, with the labels "3: text" (srun -l), "[3] text" or "[rank3]: text".
// If most lines have no label, all lines.
std::string lines_of_rank(const std::string& text, int rank);

}  // namespace orch::events
