#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "core/measured/samples.h"
#include "core/measured/score.h"
#include "core/measured/unexplained.h"
#include "core/report/report.h"

namespace orch::report {

using UnexplainedRows = std::map<std::string, measured::Unexplained>;

// Estimates beside measurements. Refers to what it is made of.
struct Validation {
  Validation(const std::vector<measured::Judged>& judged, const measured::Samples& all,
             const UnexplainedRows& odd, std::string how);

  const std::vector<measured::Judged>& rows;
  const measured::Samples& samples;
  const UnexplainedRows& unexplained;
  std::string calibrate;
  std::set<std::string> apart;  // ids of rows that are scored on their own
  measured::Scores scores;
};

// Scores by source and table, then the worst rows (or all), the verdicts on memory that were wrong,
// and what was left out.
std::string validation_table(const Validation& validation, const Screen& screen, bool all_rows);
std::string validation_markdown(const Validation& validation, bool all_rows);
std::string validation_csv(const Validation& validation);   // the rows
std::string validation_json(const Validation& validation);  // scores, rows, skipped

// "31 suspect and 34 duplicate rows left out, 12 skipped", in a line of its own.
std::string left_out(const Validation& validation);

// Predicted against measured step times, one point per row, both axes logarithmic. A picture of its
// own that follows the reader's light or dark mode.
std::string scatter_svg(const Validation& validation);

}  // namespace orch::report
