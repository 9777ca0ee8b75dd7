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
// Our own trainers say more:
//   start: "device", "torch" (its version), "parameters", "effective":{"attention":"sdpa",…}
//   step:  "gradient_norm", "learning_rate", "loss_scale", "skipped" (no update: an overflow),
//          "communicated_bytes" (given to collectives since the attempt began, by the rank that
//          gave most), "bubble" (share of the step that pipeline stages were idle, their mean)
//   {"event":"evaluation","time":…,"step":100,"loss":3.4}    on held-out data
//   {"event":"checkpoint_failed","time":…,"step":100,"message":"…"}    training goes on
//   {"event":"profile","time":…,"step":50,"time_items":{"QKV":0.12,…},"memory_items":{…}}
//     seconds of one step and bytes of rank 0, by the estimator's names; the last one counts
//   {"event":"gpus","time":…,"use":0.98,"watts":612.4}    of a local run, by its supervisor every
//   ten
//     seconds, of a long one less often: the share of the last second in which a GPU was busy and
//     its power, the means of the run's GPUs
//   {"event":"machine","time":…,"others_share":0.04,"clock_mhz":2900}    of a local run, by its
//     supervisor when the ranks have ended: the share of the cores' time that other programs took
//     (of GPUs: their use before the run), and the clock of what computed
//   {"event":"failed","time":…,"class":"nan","message":"…"}    class: gpu_memory, host_memory,
//     nccl, data, nan, disk or bad_exit
// time:               seconds since 1970 by the trainer's clock
// step:               the number of the step that was just done, counted over all attempts from 1
// step_seconds:       how long that step took; if missing, the times of two lines tell
// tokens:             trained on so far, over all attempts
// tokens_per_second:  of that step, all ranks together; if missing, tokens and time tell
// peak_memory_bytes:  of the fullest rank, so far
// A line needs "event", a step "step" too; the rest may be missing or null. A trainer may write
// every n-th step only, and one line with a single write(), so that nothing comes in between. NaN,
// Infinity and numbers beyond a double count as missing. Keys that a reader does not know are
// skipped, lines that are not JSON too (the last may be half).

// How far the attempt got; nothing before its first step. Reads at most 4 MiB of the file's end,
// however long it is. now: the file system's own time (see file_system_now), for the age.
std::optional<record::Progress> read_progress(const fs::path& attempt_folder, double now);

// The items of the last profile that the attempt's trainer wrote in the last 4 MiB of its events,
// by the estimator's names and of no kind. False: there is none.
bool read_profile(const fs::path& attempt_folder, record::Measurement& into);

// What the events of all attempts tell together, each read from beginning to end, in their order. A
// step that a later attempt did again counts as that one did it. Of the record that is what was
// measured, with the items of the last profile, its start and end, and the versions of torch and
// device.
record::Record read_history(const std::vector<fs::path>& attempt_folders);

// The last event "failed" of an attempt, its message printable and cut to about 200 characters;
// none if there is no such event. One that blames the others (nccl) counts after all that do not.
record::Confession read_failure(const fs::path& attempt_folder);

// The time that the file system of a folder gives to a new file: clocks of hosts differ.
// Falls back to our own clock.
double file_system_now(const fs::path& folder);

// A log as it grows: gives the bytes since the last call, at most some MiB of them at once.
class Tail {
 public:
  // lines: how many of the last lines to begin with (looked for in the last 16 MiB); -1: from the
  // beginning.
  Tail(fs::path file, std::int64_t lines);
  // New text, possibly empty; whether there is more at once. A file that is missing has none yet,
  // one that shrank is begun again.
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
// Where most lines have no label, all of them.
std::string lines_of_rank(const std::string& text, int rank);

}  // namespace orch::events
