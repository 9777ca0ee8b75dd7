#include <fmt/format.h>

#include "core/base/number.h"
#include "core/show/compare/parts.h"

namespace orch::compare {
namespace {

using record::Record;

// 72 B s L h^2 (1 + s/6h + V/16Lh) is a step of B sequences: Narayanan et al. 2021, equation 3 with
// 3 passes for 4.
std::optional<double> by_shape(const Record& record) {
  const auto field = [&](const char* name) { return positive(record.field_number(name)); };
  const auto L = field("layers"), h = field("hidden"), V = field("vocab"), s = field("seq");
  if (!L || !h || !V || !s) return std::nullopt;
  return 72 * *L * *h * *h * (1 + *s / (6 * *h) + *V / (16 * *L * *h));
}

const Record* without(const std::vector<Cohort>& groups, Flops by) {
  for (const auto& group : groups)
    for (const auto* record : group.records)
      if (!flops_per_token(*record, by)) return record;
  return nullptr;
}

}  // namespace

std::optional<double> flops_per_token(const Record& record, Flops by) {
  if (by == Flops::shape) return by_shape(record);
  const auto params = positive(record.field_number("params"));
  if (!params) return std::nullopt;
  return 6 * *params;
}

double Sizing::factor(const Record& record) const {
  return base ? *base / flops_per_token(record, by).value_or(*base) : 1.0;
}

Sizing same_size(const std::vector<Cohort>& groups) {
  Sizing out;
  const auto& first = *groups.front().records.front();
  const std::string at =
      fmt::format("times are at the model size of {} ({})", groups.front().name, first.id);
  if (without(groups, Flops::shape) == nullptr) {
    out.base = flops_per_token(first, Flops::shape);
    out.note = at + ": by 72 B s L h^2 (1 + s/6h + V/16Lh) FLOPs per step, without recomputation";
  } else if (const auto* record = without(groups, Flops::params); record == nullptr) {
    out.by = Flops::params;
    out.base = flops_per_token(first, Flops::params);
    out.note = at + ": by 6 FLOPs per parameter and token, as not all say their shape";
  } else {
    out.note = fmt::format(
        "times cannot be brought to the same size: {} says neither its shape (layers, hidden, "
        "vocab, seq) nor its params",
        record->id);
  }
  return out;
}

}  // namespace orch::compare
