#include <algorithm>

#include "core/base/number.h"
#include "core/show/compare/parts.h"

namespace orch::compare {
namespace {

using record::Record;

// A step of B sequences takes 72 B s L h^2 (1 + s/6h + V/16Lh) FLOPs: Narayanan et al. 2021,
// equation 3, with 3 passes in place of 4 (no recomputation).
std::optional<double> by_shape(const Record& record) {
  const auto field = [&](const char* name) { return positive(record.field_number(name)); };
  const auto L = field("layers"), h = field("hidden"), V = field("vocab"), s = field("seq");
  if (!L || !h || !V || !s) return std::nullopt;
  return 72 * *L * *h * *h * (1 + *s / (6 * *h) + *V / (16 * *L * *h));
}

const Record* without(const std::vector<Cohort>& groups, SizeNormalization::FlopsBy by) {
  for (const auto& group : groups)
    for (const auto* record : group.records)
      if (!flops_per_token(*record, by)) return record;
  return nullptr;
}

}  // namespace

std::optional<double> flops_per_token(const Record& record, SizeNormalization::FlopsBy by) {
  if (by == SizeNormalization::FlopsBy::shape) return by_shape(record);
  const auto params = positive(record.field_number("params"));
  if (!params) return std::nullopt;
  return 6 * *params;
}

bool work_differs(const std::vector<Cohort>& groups) {
  constexpr double kMuch = 1.1;
  double least = 0, most = 0;
  for (const auto& group : groups)
    for (const auto* record : group.records)
      if (const auto flops = flops_per_token(*record, SizeNormalization::FlopsBy::params)) {
        least = least == 0 ? *flops : std::min(least, *flops);
        most = std::max(most, *flops);
      }
  return most > kMuch * least;
}

double SizeNormalization::factor(const Record& of) const {
  return base ? *base / flops_per_token(of, by).value_or(*base) : 1.0;
}

SizeNormalization same_size(const std::vector<Cohort>& groups) {
  const auto& first = *groups.front().records.front();
  const Record* lacking = nullptr;
  for (const auto by : {SizeNormalization::FlopsBy::shape, SizeNormalization::FlopsBy::params})
    if (lacking = without(groups, by); lacking == nullptr)
      return {by, first.id, flops_per_token(first, by)};
  return {SizeNormalization::FlopsBy::unknown, lacking->id, {}};
}

}  // namespace orch::compare
