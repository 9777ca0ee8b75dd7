#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/record/record.h"

namespace orch::published {

// What the rows of a source or a framework leave unsaid and other evidence tells: the value of an
// empty cell.
struct Habit {
  std::string source, gpu, framework;  // an empty one: all of them
  std::string column, value, reason;
};

// Of a CSV text with the columns source, gpu, column, value and reason, and perhaps framework.
Result<std::vector<Habit>> parse_habits(std::string_view text, const std::string& file);

// A row that no model explains, and why we think so.
struct Unexplained {
  std::string reason;
  bool apart = false;  // contradicts its own repeats: scored on its own
};

// By id, from a CSV text with the columns id, reason and apart.
Result<std::map<std::string, Unexplained>> parse_unexplained(std::string_view text,
                                                             const std::string& file);

// The rows of a CSV text as records that say what it says (said.h). Columns come in any order and
// unknown ones are ignored; those without which no row means anything must be there. A bad cell is
// a doubt of its record ("unreadable"), with line and column: one odd row does not spoil a table.
// Habits fill cells that are empty.
Result<std::vector<record::Record>> parse_rows(std::string_view text, const std::string& file,
                                               const std::vector<Habit>& habits = {});

// Records as they were said, in the schema that parse_rows reads, with a header.
std::string rows_csv(const std::vector<record::Record>& records);

// The cells of a row that could not be read.
Errors flaws(const record::Record& record);

}  // namespace orch::published
