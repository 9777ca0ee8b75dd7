#pragma once

#include <string>

#include "core/show/tables/report.h"

namespace orch::tables {

// What an experiment comes to, in two sentences.
struct Answer {
  std::string best;  // what is best, by how much, what it costs and when it ends
  std::string sure;  // how sure that is, and what would change it; empty where nothing fits
};
// Of no runs there is none.
Answer answer(const RankedRuns& result);

// "Answer: …" and "How sure: …", a line each.
std::string answer_text(const RankedRuns& result);

}  // namespace orch::tables
