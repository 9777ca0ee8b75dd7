#pragma once

#include <cstdint>
#include <vector>

#include "core/record/record.h"

namespace orch::compare {

// Jumps of the loss beyond its local noise, in the order of steps, with their peak and the step of
// recovery. A jump at one of the first points after a resume is marked at_resume and has a lower
// threshold. Takes time linear in the number of points.
std::vector<record::Spike> find_spikes(const std::vector<record::LossPoint>& losses,
                                       const std::vector<std::int64_t>& resumes);

}  // namespace orch::compare
