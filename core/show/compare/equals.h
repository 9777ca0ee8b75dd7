#pragma once

#include <string>
#include <vector>

#include "core/show/compare/compare.h"

namespace orch::compare {

// Two groups, the first one and another, with what differs between them.
struct Pair {
  const Cohort* base = nullptr;
  const Cohort* other = nullptr;
  std::size_t group = 1;
  const std::vector<Difference>* differences = nullptr;
  bool same_size = false;  // times are normalised
};

// Whether a step trains on as many tokens in both, as far as anybody can know.
bool same_tokens_per_step(const Pair& pair);

// Why a metric of the two does not compare; empty: it does.
std::string not_comparable(const Metric& metric, const Pair& pair);

// Why the two are no equals though their numbers compare: other models, sequences, GPUs.
std::vector<std::string> warnings_of(const Pair& pair);

// Which of them ran: "A ran out of GPU memory, B ran". Missing where there is nothing to say.
Judgement judge_outcome(const Pair& pair);

// "ran", "2 of 3 ran, 1 ran out of GPU memory", "not run".
std::string outcome_text(const Cohort& group);

}  // namespace orch::compare
