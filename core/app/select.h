#pragma once

#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/record/record.h"

namespace orch::app {

// The records of a pool that a word chooses: "zero_stage=1,gpus=8" by fields (date, commit, id,
// source, table, state and experiment too; a date or a commit may be a beginning), or a bare word
// that is a strategy, a framework, an id or its beginning, a source, a table, a date or a commit.
// Nothing chosen is an error that says what there is.
Result<std::vector<const record::Record*>> select(const std::vector<record::Record>& pool,
                                                  const std::string& word);

}  // namespace orch::app
