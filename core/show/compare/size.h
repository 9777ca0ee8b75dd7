#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/show/compare/compare.h"

namespace orch::compare {

// Of one step: the global batch, said or the product of what makes it up, times the sequence.
std::optional<double> tokens_per_step(const record::Record& record);

// How model FLOPs are counted: by the shape, as Narayanan et al. 2021 do, without recomputation, or
// 6 for each parameter.
enum class Flops { shape, params };
std::optional<double> flops_per_token(const record::Record& record, Flops by);

// The size that times are brought to. Without a base nothing is changed.
struct Sizing {
  std::optional<double> base;  // FLOPs per token of the first group's first record
  Flops by = Flops::shape;
  std::string note;

  // What a record's time per token is multiplied with.
  double factor(const record::Record& record) const;
};

// The best way to count that all records have in common; the note says which, or why there is none.
Sizing same_size(const std::vector<Cohort>& groups);

}  // namespace orch::compare
