#pragma once

#include <atomic>
#include <future>
#include <vector>

#include "core/base/files.h"
#include "core/train/checkpoint/checkpoint.h"

namespace orch::train {

// The result of a checkpoint: for the event, or for the log if it failed. On ranks other than 0 it
// is that of their own share; only rank 0 knows about the whole.
struct CheckpointOutcome {
  checkpoint::CheckpointFacts facts;
  Status status;
};

// Writes checkpoints in the background while training continues, one at a time. A failure (such as
// a full disk) does not end the training: it is reported, and existing checkpoints are kept.
class Checkpointer {
 public:
  // options.give_up is checked in addition to our own conditions, in the writing thread.
  Checkpointer(fs::path folder, checkpoint::WriteOptions options);
  ~Checkpointer();  // abandons a checkpoint that is being written
  Checkpointer(const Checkpointer&) = delete;
  Checkpointer& operator=(const Checkpointer&) = delete;

  // Starts writing; waits for the previous checkpoint first.
  void save(checkpoint::CheckpointFacts facts, checkpoint::SavedState saved);

  // The checkpoints completed since the last call, oldest first. Does not wait.
  std::vector<CheckpointOutcome> take_outcomes();

  // Waits for the last checkpoint; returns its error, if it failed.
  Status finish();

  bool is_writing() const { return writing_.valid(); }

 private:
  void collect();  // waits for the one being written

  fs::path folder_;
  checkpoint::WriteOptions options_;
  std::atomic<bool> abandoned_ = false;
  std::future<CheckpointOutcome> writing_;
  std::vector<CheckpointOutcome> outcomes_;
  Status last_;
  std::int64_t last_step_ = 0;
};

}  // namespace orch::train
