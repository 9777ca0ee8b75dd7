#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/plan/experiment.h"
#include "core/plan/model.h"

namespace orch::search {

struct RankShape {
  std::int64_t layers = 0;
  std::int64_t hidden = 0;
  std::int64_t heads = 0;
  bool operator==(const RankShape&) const = default;
};

using MakeModel = std::function<plan::Model(const RankShape&)>;

// All shapes of the wanted size: hidden a multiple of what was asked, heads that divide it,
// head_dim a multiple of 8. If there is none, an error names the nearest size.
Result<std::vector<RankShape>> shapes_of(const plan::Shapes& wanted, const MakeModel& model,
                                         const std::string& place);

// A model with about `times` the parameters: the same ratio of width to depth and the same
// head_dim, with numbers of layers and heads that pipeline and tensor parallelism can divide.
plan::Model scaled(const plan::Model& model, double times);

// "bloom-70x14336-112h".
std::string shape_name(const std::string& family, const RankShape& shape);

}  // namespace orch::search
