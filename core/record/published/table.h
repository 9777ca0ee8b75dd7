#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/record/record.h"

namespace orch::published {

// A known value for an empty cell in the rows of a source or a framework, from other evidence.
struct UnstatedDefault {
  std::string source, gpu, framework;  // empty: any
  std::string column, value, reason;
};

// Parses CSV text with the columns source, gpu, column, value and reason, and optionally framework.
Result<std::vector<UnstatedDefault>> parse_habits(std::string_view text, const std::string& file);

// A row that no model explains, with our explanation.
struct UnexplainedRow {
  std::string reason;
  bool apart = false;  // contradicts its own repeats: scored separately
};

// By id, from a CSV text with the columns id, reason and apart.
Result<std::map<std::string, UnexplainedRow>> parse_unexplained(std::string_view text,
                                                                const std::string& file);

// The rows of a CSV text as stated records (said.h). Columns may have any order and unknown ones
// are ignored; the indispensable ones must exist. A bad cell is a doubt of its record
// ("unreadable"), with line and column: one odd row does not spoil a table. Habits fill empty
// cells.
Result<std::vector<record::Record>> parse_rows(std::string_view text, const std::string& file,
                                               const std::vector<UnstatedDefault>& habits = {});

// Stated records as CSV in the schema that parse_rows reads, with a header.
std::string rows_csv(const std::vector<record::Record>& records);

// The cells of a row that could not be read.
Errors flaws(const record::Record& record);

}  // namespace orch::published
