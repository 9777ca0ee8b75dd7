#pragma once

#include <string>
#include <vector>

#include "core/show/page/columns.h"

namespace orch::page {

// The parameters by which runs of one strategy and model differ, in the order of the vocabulary.
// What follows from others (the data-parallel ranks, the nodes) is none.
std::vector<std::string> swept(const std::vector<Line>& lines);

// Whether some strategy and model has runs at four places at least by two of these.
bool has_sweep(const std::vector<Line>& lines);

}  // namespace orch::page
