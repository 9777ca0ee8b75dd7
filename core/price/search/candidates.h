#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "core/plan/run.h"

namespace orch::search {

// The divisors of a positive number, ascending.
std::vector<std::int64_t> divisors(std::int64_t number);

// True if a search changes the field unless told to keep it: the layout of the work and the
// placement of its states; not what is computed (dtype, optimizer), nor the software (engine).
bool is_layout(std::string_view field);

// True if there is a finite set of values to try: true and false, choices, few or bounded integers.
bool enumerable(const plan::Param& param);

// The values to try: the experiment's value (or the default) first, so that it wins among equals.
std::vector<plan::Value> candidates(const plan::Param& param, const plan::Value& own);

// True for a parameter whose values depend on the layout of a run: interleave divides the layers of
// a stage, hybrid_shard_group the data-parallel ranks (0 being its default), expert_parallel these
// and the experts.
bool depends_on_layout(const plan::Param& param);
std::vector<plan::Value> candidates(const plan::Param& param, const plan::Run& run);

}  // namespace orch::search
