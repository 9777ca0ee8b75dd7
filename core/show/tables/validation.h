#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "core/record/published/samples.h"
#include "core/record/published/score.h"
#include "core/record/published/table.h"
#include "core/show/tables/report.h"

namespace orch::tables {

using UnexplainedRows = std::map<std::string, published::Unexplained>;

// What is shown of the scores: sources with their tables and the rows that are furthest off, or,
// where one was asked for, nothing but scores, with how good the verdicts on memory are.
enum class Detail { all, source, table, size };

// Estimates beside measurements. Refers to what it is made of.
struct Validation {
  Validation(const std::vector<published::Judged>& judged, const published::Samples& all,
             const UnexplainedRows& odd, std::string how, Detail shown = Detail::all);

  // Sources, or with a finer detail their parts, whose mean error is above so many percent.
  std::vector<std::string> beyond(double percent) const;

  const std::vector<published::Judged>& rows;
  const published::Samples& samples;
  const UnexplainedRows& unexplained;
  std::string calibrate;
  Detail detail;
  std::set<std::string> apart;  // ids of rows that are scored on their own
  published::Scores scores;
};

// Scores by source and table, then the worst rows (or all), the verdicts on memory that were wrong,
// and what was left out.
show::Answer validation_answer(const Validation& validation, bool all_rows);

// "31 suspect and 34 duplicate rows left out, 12 skipped", in a line of its own.
std::string left_out(const Validation& validation);

}  // namespace orch::tables
