#pragma once

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
  layers,  // from here in the order of model.h's sizes
  hidden,
  heads,
  vocab,
  seq,
  kv_heads,
  head_dim,
  ffn_hidden,
  rms_norm,
  swiglu,
  rope,
  alibi,
  embedding_norm,
  bias,
  qkv_bias,
  qk_norm,
  tied,
  norm_epsilon,
  rope_theta,
  rope_factor,
  rope_low,
  rope_high,
  rope_original,
  experts,
  experts_per_token,
  shared_experts,
  expert_hidden,
  dense_layers,
  router_bias,
  q_rank,
  kv_rank,
  rope_dim,
  value_dim,  // model
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
  params,  // only read
};
inline constexpr int kFields = static_cast<int>(Field::params) + 1;
inline constexpr int kFirstReadOnly = static_cast<int>(Field::model);

inline bool is_size(Field field) { return field >= Field::layers && field <= Field::value_dim; }

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

// tensor_parallel, pipeline_parallel, context_parallel.
bool is_layout(std::string_view name);

// Every name that a function or a filter may ask a run for.
std::vector<std::string> readable_fields(const Strategy& strategy);

}  // namespace orch::plan
