#pragma once

#include <memory>
#include <optional>
#include <string>

#include "core/show/answer.h"
#include "core/show/compare/compare.h"

namespace orch::tables {

// The answer of a comparison: the result, its certainty and possible explanations, then numbers,
// then details.
show::Answer comparison_answer(compare::Comparison comparison);

// --- its parts. Columns share ownership of the comparison.
using SharedComparison = std::shared_ptr<const compare::Comparison>;

// A row for each group but the first and each metric, measured and estimated: all, or only those
// with new information. For mixed groups, also by pairs and by the best.
show::Table results_table(const SharedComparison& held, bool all);
// The pairs of records that differ in nothing else.
show::Table pairs_table(const SharedComparison& held);
show::Table ranking_table(const SharedComparison& held);
// Adds which fields differ, which may differ, and the losses.
void add_details(const SharedComparison& held, show::Answer& to);

// The header for a group: its name, or a letter if names are long.
std::string head_of(const compare::Comparison& comparison, std::size_t group);
// The headers for a group but the first: its name (none if there is only one such group), values
// and judgement.
std::string group_head(const compare::Comparison& comparison);
std::string other_head(const compare::Comparison& comparison);
std::string against_head(const compare::Comparison& comparison);
show::Cell group_cell(const compare::Comparison& comparison, std::size_t group);
// The interval's limits become those of the cell.
show::Cell interval_cell(const std::optional<statistics::Interval>& interval, std::string text);

}  // namespace orch::tables
