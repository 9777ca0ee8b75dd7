#include "core/price/backend/work.h"

namespace orch::backend {

void Work::clear() {
  stages = micro_batches = chunks = 1;
  filled = false;
  recompute = ORCH_RECOMPUTE_NONE;
  dtype = "bf16";
  blocks.clear();
  ops.clear();
  stage_list.clear();
  counts.clear();
  memory.clear();
  texts.reset();
}

std::string_view Work::keep(std::string text) {
  if (!texts) texts = std::make_shared<std::deque<std::string>>();
  return texts->emplace_back(std::move(text));
}

}  // namespace orch::backend
