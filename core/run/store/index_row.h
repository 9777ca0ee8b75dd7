#pragma once

#include <string>

#include "core/run/store/index.h"
#include "core/run/store/sqlite.h"

namespace orch::store {

// The columns of the table of runs, as a list for SQL, and as many question marks.
std::string columns();
std::string placeholders();

int step_with(Statement& statement, const Index::Row& row);  // binds all columns; resets after
Index::Row read_row(const Statement& statement);             // of one that selects columns()

}  // namespace orch::store
