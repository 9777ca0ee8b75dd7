#pragma once

#include <span>
#include <string>
#include <vector>

#include "core/backend/work.h"
#include "core/plan/cluster.h"
#include "core/plan/run.h"

namespace orch::fit {

// A run that was measured, and the work that its backend describes: no constant changes it.
struct Observation {
  plan::Run run;
  backend::Work work;
  std::string day;           // YYYY-MM-DD or less; empty: not known
  double step_seconds = 0;   // 0: not measured
  double memory = 0;         // bytes; 0: not measured
  bool first_stage = false;  // memory is that of the first pipeline stage
};

// The calibration of `base` for these backends that the observations ask for. Constants that no
// observation depends on stay as they are and are not in it; nor are they with no observation.
// `rows` names the observations in the origins. Eras keep the days of `eras`.
plan::Calibration fit(const plan::Partition& base, std::vector<std::string> backends,
                      std::span<const Observation* const> observations, const std::string& rows,
                      std::vector<plan::Era> eras = {});

// A partition with the calibration's constants in their places.
plan::Partition applied(const plan::Calibration& calibration, const plan::Partition& partition);

// A calibration with nothing in it: the partition as it is.
plan::Calibration uncalibrated(const plan::Partition& base, std::vector<std::string> backends);

}  // namespace orch::fit
