#pragma once

#include <memory>
#include <optional>
#include <string>

#include "core/show/answer.h"
#include "core/show/compare/compare.h"

namespace orch::tables {

// What a comparison comes to: the answer, how sure it is and what can explain it, then numbers,
// then the details.
show::Answer comparison_answer(compare::Comparison comparison);

// --- its parts. Columns outlive the call that makes them.
using SharedComparison = std::shared_ptr<const compare::Comparison>;

// A row for each group but the first by each metric, measured and estimated: all, or those that say
// something new. Of mixtures, also by their pairs and by their best.
show::Table results_table(const SharedComparison& held, bool all);
// The pairs of records that differ in nothing else.
show::Table pairs_table(const SharedComparison& held);
show::Table ranking_table(const SharedComparison& held);
// What differs, what may differ and what the losses come to.
void add_details(const SharedComparison& held, show::Answer& to);

// How a group is called at the head of a column: by its name, or by a letter where names are long.
std::string head_of(const compare::Comparison& comparison, std::size_t group);
// The heads of columns about a group but the first: of its name (none where there is one such
// group), its values and its judgement.
std::string group_head(const compare::Comparison& comparison);
std::string other_head(const compare::Comparison& comparison);
std::string against_head(const compare::Comparison& comparison);
show::Cell group_cell(const compare::Comparison& comparison, std::size_t group);
// Its limits are those of the cell.
show::Cell interval_cell(const std::optional<statistics::Interval>& interval, std::string text);

}  // namespace orch::tables
