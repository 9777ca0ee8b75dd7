#pragma once

#include <string>
#include <vector>

#include "core/plan/run.h"
#include "core/record/published/flops.h"
#include "core/record/record.h"

namespace orch::published {

// A row's model, layout and batch, with what is missing filled in where other cells decide it or
// where there is a habit; the latter is added to assumed. An error says what cannot be known.
Result<plan::Model> model_of(const record::Record& row, const Peers& peers,
                             std::vector<std::string>& assumed);
Result<plan::Layout> layout_of(const record::Record& row, std::vector<std::string>& assumed);
Result<plan::Batch> batch_of(const record::Record& row, const plan::Layout& layout,
                             std::vector<std::string>& assumed);

}  // namespace orch::published
