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

// How a backend makes its engine, once all ranks have met.
using MakeEngine = std::function<std::unique_ptr<Engine>(const plan::Run&, World&, Profile&)>;

// What the job script says beside run.json.
struct Job {
  fs::path run_json;
  fs::path attempt;  // the folder of events and recordings
  // Of a ramp-up in several jobs: all but the last end when the batch would grow beyond their own.
  bool last_phase = true;
  std::int64_t last_batch = 0;

  fs::path checkpoints() const { return run_json.parent_path() / "checkpoints"; }
};

// Trains from the last sound checkpoint to the end of the run or of the phase, saves and returns
// true; or, once stop_was_asked() on some rank, saves and returns false. Throws what ends a
// training.
bool train(const plan::Run& config, const Job& job, World& world, Events& events,
           const MakeEngine& make);

// SIGUSR1 has come (see catch_stop): save and leave.
bool stop_was_asked();
void catch_stop();

}  // namespace orch::train
