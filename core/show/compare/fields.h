#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/show/compare/compare.h"

namespace orch::compare {

// Fields of the groups' records that are not the same everywhere, and circumstances that are not.
// What follows from what is not said yet. What a model is called has no effect where its shape is
// said and the same.
std::vector<Difference> differences_of(const std::vector<Cohort>& groups);

// Fields in which the records of a group differ; an assumed value is a value.
std::vector<std::string> varying_fields(const Cohort& group);

const Difference* find(const std::vector<Difference>& differences, std::string_view field);

// How a field of a group stands to the first group's: that of its difference, else the same.
Standing standing_of(const std::vector<Difference>& differences, std::string_view field,
                     std::size_t group);

// "2, 4", "true (assumed)", "not said".
std::string said_text(const Said& said);

// "zero_stage 1 → 3".
std::string change_text(const Difference& difference, std::size_t group);

}  // namespace orch::compare
