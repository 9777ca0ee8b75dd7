#pragma once

#include <functional>
#include <memory>

#include "backends/runtime/comm/comm.h"
#include "backends/runtime/loop/events.h"
#include "backends/runtime/model/profile.h"
#include "backends/runtime/step/engine.h"
#include "core/base/files.h"
#include "core/plan/run.h"

namespace orch::train {

// Creates a backend's engine, once all ranks have met.
using MakeEngine = std::function<std::unique_ptr<Engine>(const plan::Run&, World&, Profile&)>;

// The arguments of the job script besides run.json.
struct TrainingJob {
  fs::path run_json;
  fs::path attempt;  // the folder for events and recordings
  // For a ramp-up in several jobs: all but the last end when the batch exceeds their phase.
  bool last_phase = true;
  std::int64_t last_batch = 0;

  fs::path checkpoints() const { return run_json.parent_path() / "checkpoints"; }
};

// Trains from the last valid checkpoint to the end of the run or of the phase, saves and returns
// true; or, once stop_was_asked() on some rank, saves and returns false. Throws errors that end a
// training.
bool train(const plan::Run& config, const TrainingJob& job, World& world, Events& events,
           const MakeEngine& make);

// True if SIGUSR1 has arrived (see catch_stop): save and exit.
bool stop_was_asked();
void catch_stop();

}  // namespace orch::train
