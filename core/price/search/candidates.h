#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "core/plan/run.h"

namespace orch::search {

// Of a positive number, ascending.
std::vector<std::int64_t> divisors(std::int64_t number);

// Whether a search changes the field unless told to keep it: how the work is laid out and where its
// states live; not what is computed (dtype, optimizer), nor by which software (engine).
bool is_layout(std::string_view field);

// Whether there is a set of values to try: true and false, choices, few or bounded integers.
bool enumerable(const plan::Param& param);

// Values to try: what the experiment says (or the default) first, so that of equals the one nearest
// to it wins.
std::vector<plan::Value> candidates(const plan::Param& param, const plan::Value& own);

// The same for a parameter whose values follow from the layout of a run: interleave divides the
// layers of a stage, hybrid_shard_group the data-parallel ranks (0 being its default),
// expert_parallel these and the experts.
bool depends_on_layout(const plan::Param& param);
std::vector<plan::Value> candidates(const plan::Param& param, const plan::Run& run);

}  // namespace orch::search
