#pragma once

#include <cstdint>
#include <vector>

#include "core/record/record.h"

namespace orch::compare {

// Jumps of the loss beyond its local noise, in the order of steps: how high, and when it was back.
// A jump at one of the first points after a resume is at_resume, and needs less to count. Takes
// time in proportion to the points.
std::vector<record::Spike> find_spikes(const std::vector<record::LossPoint>& losses,
                                       const std::vector<std::int64_t>& resumes);

}  // namespace orch::compare
