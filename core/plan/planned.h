#pragma once

#include <string>

#include "core/plan/estimate.h"
#include "core/plan/run.h"

namespace orch::plan {

// A run with its name and its price: what tables show and folders hold.
struct Planned {
  Run run;
  std::string id;    // label and hash, the folder's name
  std::string json;  // run.json, of which the hash is
  Estimate estimate;
};

}  // namespace orch::plan
