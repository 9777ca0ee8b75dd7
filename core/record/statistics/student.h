#pragma once

namespace orch::statistics {

// The value below which Student's t lies with a probability of more than 0 and less than 1.
// Degrees of freedom are positive and need not be whole.
double student_t(double probability, double degrees);

}  // namespace orch::statistics
