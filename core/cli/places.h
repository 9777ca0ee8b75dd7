#pragma once

#include <vector>

#include "core/base/files.h"
#include "core/base/result.h"

namespace orch::cli {

// Where orch finds what it needs. Everything is found from the program's own place, so a clone or
// an installation can be moved; ORCH_HOME and ORCH_PLUGINS name other places.
struct Places {
  fs::path home;                  // holds experiments/ and templates/
  std::vector<fs::path> plugins;  // folders, the first counts most
  fs::path trainers;              // where orch-train-<backend> would be

  // Clusters that were measured for this user on this machine; empty where there is no home.
  fs::path own_clusters;

  // Where clusters are looked for, the first counts most.
  std::vector<fs::path> cluster_folders() const;
  fs::path models() const { return home / "experiments/models.lua"; }
  fs::path gpus() const { return home / "experiments/gpus.yaml"; }
  fs::path clusters() const { return home / "experiments/clusters"; }
  fs::path measured() const { return home / "experiments/measured"; }
  fs::path logs() const { return home / "templates/logs"; }  // patterns, a file per framework
  fs::path templates() const { return home / "templates/slurm"; }
};

Result<Places> find_places();

}  // namespace orch::cli
