#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/plan/model.h"
#include "core/plan/strategy.h"
#include "core/plan/value.h"

namespace orch::plan {

// The fields of every run, whatever its strategy. A strategy's own parameters come after them.
enum class Field {
  family,
#define ORCH_SIZE(type, name, ...) name,
  ORCH_SIZES(ORCH_SIZE)
#undef ORCH_SIZE
      cluster,
  partition,
  gpus,
  nodes,  // hardware
  micro_batch,
  accumulate,
  global_batch,
  data_parallel,  // batch
  tokens,
  steps,  // the length of the training
  model,
  strategy,
  backend,
  gpus_per_node,
  params,  // derived, read-only
};
inline constexpr int kFields = static_cast<int>(Field::params) + 1;
inline constexpr int kFirstReadOnly = static_cast<int>(Field::model);

inline bool is_size(Field field) { return field >= Field::layers && field <= Field::value_dim; }

// The section of an experiment file in which a field may be.
enum class FieldSection { model, hardware, batch, top };

std::string_view name(Field field);
const std::vector<std::string>& fields_of(FieldSection section);

// Its name, type, limits and meaning.
const Param& param_of(Field field);

// The value converted to the field's type and checked against its limits, or an error.
Result<Value> conform(Field field, const Value& value, const std::string& place);

// Field or parameter of a strategy by name: an index below kFields, kFields + parameter, or -1.
int field_index(std::string_view name, const Strategy& strategy);

// tensor_parallel, pipeline_parallel, context_parallel.
bool is_layout(std::string_view name);

// Every name that a function or a filter may read from a run.
std::vector<std::string> readable_fields(const Strategy& strategy);

}  // namespace orch::plan
