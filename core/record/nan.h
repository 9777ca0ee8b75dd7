#pragma once

#include <string>

#include "core/record/record.h"

namespace orch::record {

// Whether the loss was no number any more when the run ended.
bool lost_loss(const Measurement& measured);

// "NaN in 50 of 100 steps, from step 51 on"; empty: the loss always was a number.
std::string nan_text(const Measurement& measured);

}  // namespace orch::record
