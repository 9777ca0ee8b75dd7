#pragma once

#include <string>
#include <vector>

#include "core/app/app.h"
#include "core/show/tables/probe.h"

namespace orch::app {

// One rank of each kind of stage of a planned run, to be run alone on this machine: as if the other
// ranks were there and answered at once. In a folder of its own, which may be taken to another
// machine: <folder>/run starts the slices there, and what they wrote is read back here.
class Probe {
 public:
  // folder: of all probes. The run's own data and checkpoints are not needed.
  static Result<Probe> make(App& app, plan::Run run, const fs::path& folder);

  const plan::Run& run() const { return run_; }
  const plan::Run& part() const { return part_; }  // as the slices run it
  const fs::path& folder() const { return folder_; }
  const std::vector<tables::Slice>& slices() const { return slices_; }
  static std::string name_of(const tables::Slice& slice);  // "stage-3", below the folder

  Status write() const;  // run.json of each slice, and the program that runs them
  // Runs one; the error has the end of what it said.
  Status start(const tables::Slice& slice, const fs::path& trainer) const;
  // What the slices have measured, with estimates for the device that they ran on.
  Status read();

 private:
  Probe() = default;
  std::string script() const;

  App* app_ = nullptr;
  plan::Run run_;   // as planned
  plan::Run part_;  // as the slices run it: some micro-batches, some steps, synthetic tokens
  fs::path folder_;
  std::vector<tables::Slice> slices_;
};

}  // namespace orch::app
