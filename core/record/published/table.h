#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/record/published/habits.h"
#include "core/record/record.h"

namespace orch::published {

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
