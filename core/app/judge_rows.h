#pragma once

#include <string>
#include <vector>

#include "core/app/app.h"
#include "core/record/published/row.h"
#include "core/record/record.h"

namespace orch::app {

// Puts the estimate and the doubts of each row into its record; why there is no estimate is said
// there too. The cluster is for rows whose site is none of ours.
void judge_rows(App& app, const std::vector<published::Row>& rows, const std::string& cluster,
                std::vector<record::Record>& records);

}  // namespace orch::app
