#pragma once

#include "core/plan/family.h"

namespace orch::plan {

// One file per family, and an entry in families() of family.cpp.
const Family& gpt_family();
const Family& bloom_family();
const Family& llama_family();
const Family& moe_family();
const Family& transformer_family();

// Functions that several families use.
inline Value all_heads(const Model& m) { return m.heads; }
// 0, an invalid number, where heads do not divide it.
inline Value divided_heads(const Model& m) {
  if (m.heads <= 0) return m.hidden;
  return m.hidden % m.heads == 0 ? m.hidden / m.heads : 0;
}
inline Value four_times(const Model& m) { return 4 * m.hidden; }
// Two thirds of four times the width, because a gated MLP has three matrices, rounded to whole
// tiles.
inline Value gated_width(const Model& m) { return (8 * m.hidden / 3 + 255) / 256 * 256; }

}  // namespace orch::plan
