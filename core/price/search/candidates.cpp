#include "core/price/search/candidates.h"

#include <algorithm>
#include <array>
#include <numeric>

#include "core/base/text.h"

namespace orch::search {
namespace {

using plan::Param;
using plan::ParamType;
using plan::Value;

constexpr double kFew = 8;          // for a range up to this size, all values are tried
constexpr double kLargest = 1e6;    // a larger integer is a number of steps or bytes, not of parts
constexpr std::int64_t kReach = 4;  // else from a quarter to four times the default

std::int64_t integer_default(const Param& param) {
  const auto* value = std::get_if<std::int64_t>(&param.default_value);
  return value ? *value : static_cast<std::int64_t>(param.min);
}

std::vector<Value> integers(const Param& param) {
  std::vector<Value> values;
  const auto min = static_cast<std::int64_t>(param.min), max = static_cast<std::int64_t>(param.max);
  if (param.max - param.min < kFew) {
    for (auto value = min; value <= max; ++value) values.emplace_back(value);
    return values;
  }
  const auto middle = integer_default(param);
  if (min == 0) values.emplace_back(std::int64_t{0});
  for (auto value = std::max<std::int64_t>(1, middle / kReach);
       value <= std::max<std::int64_t>(1, middle) * kReach; value *= 2)
    if (value >= min && value <= max) values.emplace_back(value);
  return values;
}

std::vector<Value> own_first(std::vector<Value> values, const Value& own) {
  if (!plan::is_given(own)) return values;
  std::erase(values, own);
  values.insert(values.begin(), own);
  return values;
}

}  // namespace

std::vector<std::int64_t> divisors(std::int64_t number) {
  std::vector<std::int64_t> low, high;
  for (std::int64_t d = 1; d <= number / d; ++d) {
    if (number % d != 0) continue;
    low.push_back(d);
    if (d != number / d) high.push_back(number / d);
  }
  low.insert(low.end(), high.rbegin(), high.rend());
  return low;
}

bool is_layout(std::string_view field) {
  static constexpr std::array<std::string_view, 15> kLayout{
      "tensor_parallel", "pipeline_parallel",  "data_parallel",
      "micro_batch",     "accumulate",         "interleave",
      "recompute",       "zero_stage",         "stage",
      "offload",         "sequence_parallel",  "stage_partition",
      "sharding",        "hybrid_shard_group", "expert_parallel"};
  return contains(kLayout, field);
}

bool enumerable(const Param& param) {
  if (param.type == ParamType::integer) return param.max > 0 && param.max <= kLargest;
  return param.type == ParamType::boolean || param.type == ParamType::choice;
}

std::vector<Value> candidates(const Param& param, const Value& own) {
  const auto& first = plan::is_given(own) ? own : param.default_value;
  if (!enumerable(param)) return {first};
  if (param.type == ParamType::integer) return own_first(integers(param), first);
  if (param.type == ParamType::boolean) return own_first({Value(false), Value(true)}, first);
  return own_first({param.choices.begin(), param.choices.end()}, first);
}

bool depends_on_layout(const Param& param) {
  return param.type == ParamType::integer &&
         (param.name == "interleave" || param.name == "hybrid_shard_group" ||
          param.name == "expert_parallel");
}

std::vector<Value> candidates(const Param& param, const plan::Run& run) {
  std::vector<Value> values{param.default_value};
  std::int64_t whole = 1;
  const auto data = run.layout.data_parallel, stages = run.layout.pipeline_parallel;
  if (param.name == "hybrid_shard_group") whole = data;
  if (param.name == "expert_parallel")
    whole = std::gcd(data, std::max<std::int64_t>(1, run.model.experts));
  if (param.name == "interleave" && stages > 1 && run.model.layers % stages == 0)
    whole = run.model.layers / stages;
  for (const auto value : divisors(whole))
    if (value > 1 && Value(value) != param.default_value && static_cast<double>(value) <= param.max)
      values.emplace_back(value);
  return values;
}

}  // namespace orch::search
