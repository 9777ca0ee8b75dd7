#pragma once

#include <atomic>
#include <future>
#include <vector>

#include "core/base/files.h"
#include "core/train/checkpoint/checkpoint.h"

namespace orch::train {

// How a checkpoint ended: for the event, or for the log if it failed. Of a rank other than 0: how
// its share did; only rank 0 knows of the whole.
struct CheckpointOutcome {
  checkpoint::Facts facts;
  Status status;
};

// Writes checkpoints in the background while training goes on, one at a time. One that fails (a
// full disk) ends nothing: it is told, and those that are there stay.
class Checkpointer {
 public:
  // options.give_up is asked beside our own reasons, in the thread that writes.
  Checkpointer(fs::path folder, checkpoint::WriteOptions options);
  ~Checkpointer();  // abandons what is being written
  Checkpointer(const Checkpointer&) = delete;
  Checkpointer& operator=(const Checkpointer&) = delete;

  // Starts to write; if the one before is still being written, waits for it first.
  void save(checkpoint::Facts facts, checkpoint::Saved saved);

  // Those that ended since the last call, oldest first. Does not wait.
  std::vector<CheckpointOutcome> take_outcomes();

  // Waits for the last one; its error, if it failed.
  Status finish();

  bool is_writing() const { return writing_.valid(); }

 private:
  void collect();  // the one that is being written, waiting for it

  fs::path folder_;
  checkpoint::WriteOptions options_;
  std::atomic<bool> abandoned_ = false;
  std::future<CheckpointOutcome> writing_;
  std::vector<CheckpointOutcome> outcomes_;
  Status last_;
  std::int64_t last_step_ = 0;
};

}  // namespace orch::train
