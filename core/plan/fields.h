#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/plan/strategy.h"
#include "core/plan/value.h"

namespace orch::plan {

// The fields of every run, whatever its strategy. A strategy's own parameters come after them.
enum class Field {
  family,
  layers,
  hidden,
  heads,
  vocab,
  seq,  // model
  cluster,
  partition,
  gpus,
  nodes,  // hardware
  micro_batch,
  accumulate,
  global_batch,
  data_parallel,  // batch
  tokens,
  steps,  // how much
  model,
  strategy,
  backend,
  gpus_per_node,
  head_dim,
  params,  // only read
};
inline constexpr int kFields = 22;
inline constexpr int kFirstReadOnly = 16;

// The section of an experiment file in which a field may stand.
enum class Section { model, hardware, batch, top };

std::string_view name(Field field);
const std::vector<std::string>& fields_of(Section section);

// Its name, type, limits and meaning.
const Param& param_of(Field field);

// The value in the field's own type and within sane limits, or what is wrong with it.
Result<Value> conform(Field field, const Value& value, const std::string& place);

// Field or parameter of a strategy by name: an index below kFields, kFields + parameter, or -1.
int field_index(std::string_view name, const Strategy& strategy);

// Every name that a function or a filter may ask a run for.
std::vector<std::string> readable_fields(const Strategy& strategy);

}  // namespace orch::plan
