#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/plan/experiment.h"
#include "core/plan/model.h"

namespace orch::search {

struct Shape {
  std::int64_t layers = 0;
  std::int64_t hidden = 0;
  std::int64_t heads = 0;
  bool operator==(const Shape&) const = default;
};

using MakeModel = std::function<plan::Model(const Shape&)>;

// Every shape of the wanted size of these models: hidden a multiple of what was asked, heads that
// divide it, head_dim a multiple of 8. None is an error that names the nearest size.
Result<std::vector<Shape>> shapes_of(const plan::Shapes& wanted, const MakeModel& model,
                                     const std::string& place);

// A model of about so many times the parameters: as deep for its width, with heads as wide, and with numbers of layers
// and heads that pipelines and tensor parallelism can divide.
plan::Model scaled(const plan::Model& model, double times);

// "bloom-70x14336-112h".
std::string shape_name(const std::string& family, const Shape& shape);

}  // namespace orch::search
