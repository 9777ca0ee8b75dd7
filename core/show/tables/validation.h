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

using UnexplainedRows = std::map<std::string, published::UnexplainedRow>;

// What to show: sources with their tables and the rows with the largest errors, or, if a grouping
// was asked for, only scores, with the quality of the verdicts on memory.
enum class ScoreDetail { all, source, table, size };

// Estimates compared with measurements. Refers to its data.
struct Validation {
  Validation(const std::vector<published::JudgedSample>& judged,
             const published::PublishedSamples& all, const UnexplainedRows& odd, std::string how,
             ScoreDetail shown = ScoreDetail::all);

  // Sources, or with a finer detail their parts, whose mean error is above this percentage.
  std::vector<std::string> beyond(double percent) const;

  const std::vector<published::JudgedSample>& rows;
  const published::PublishedSamples& samples;
  const UnexplainedRows& unexplained;
  std::string calibrate;
  ScoreDetail detail;
  std::set<std::string> apart;  // ids of rows that are scored separately
  published::Scores scores;
};

// Scores by source and table, then the worst rows (or all), the wrong verdicts on memory, and what
// was left out.
show::Answer validation_answer(const Validation& validation, bool all_rows);

// "31 suspect and 34 duplicate rows left out, 12 skipped", as a separate line.
std::string left_out(const Validation& validation);

}  // namespace orch::tables
