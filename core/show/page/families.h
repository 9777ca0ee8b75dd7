#pragma once

#include <vector>

#include "core/show/page/columns.h"

namespace orch::page {

// Numbers the families of runs that tell how a configuration scales: runs of one family agree in
// all settings but the number of GPUs, nodes and data-parallel ranks, and either train with the
// same global batch (strong scaling) or with the same batch on each rank (weak scaling). Runs that
// do not say their batch are in none.
void find_families(std::vector<Line>& lines);

// Whether a line may join the two in a chart over GPUs.
bool are_related(const Line& a, const Line& b);

// Whether runs of one family that count for speed have a rate on three numbers of GPUs or more.
bool has_scaling(const std::vector<Line>& lines, std::optional<Interval> Numbers::*rate);

}  // namespace orch::page
