#include "core/cli/fields.h"

#include <algorithm>
#include <string>
#include <vector>

#include "core/base/text.h"

namespace orch::cli {
namespace {

using plan::Planned;
using plan::Value;

struct Named {
  const char* name;
  Value (*value)(const Planned&);
};

const std::vector<Named>& fields() {
  static const std::vector<Named> kFields{
      {"id", [](const Planned& p) -> Value { return p.run.id; }},
      {"strategy", [](const Planned& p) -> Value { return p.run.strategy->name; }},
      {"backend", [](const Planned& p) -> Value { return p.run.strategy->backend; }},
      {"framework", [](const Planned& p) -> Value { return p.run.framework; }},
      {"model", [](const Planned& p) -> Value { return p.run.model.name; }},
      {"params", [](const Planned& p) -> Value { return p.run.model.params(); }},
      {"layers", [](const Planned& p) -> Value { return p.run.model.layers; }},
      {"hidden", [](const Planned& p) -> Value { return p.run.model.hidden; }},
      {"heads", [](const Planned& p) -> Value { return p.run.model.heads; }},
      {"head_dim", [](const Planned& p) -> Value { return p.run.model.head_dim; }},
      {"vocab", [](const Planned& p) -> Value { return p.run.model.vocab; }},
      {"seq", [](const Planned& p) -> Value { return p.run.model.seq; }},
      {"cluster", [](const Planned& p) -> Value { return p.run.cluster->name; }},
      {"partition", [](const Planned& p) -> Value { return p.run.partition->name; }},
      {"gpus", [](const Planned& p) -> Value { return p.run.gpus; }},
      {"nodes", [](const Planned& p) -> Value { return p.run.nodes; }},
      {"tensor_parallel", [](const Planned& p) -> Value { return p.run.layout.tensor_parallel; }},
      {"pipeline_parallel",
       [](const Planned& p) -> Value { return p.run.layout.pipeline_parallel; }},
      {"data_parallel", [](const Planned& p) -> Value { return p.run.layout.data_parallel; }},
      {"micro_batch", [](const Planned& p) -> Value { return p.run.batch.micro_batch; }},
      {"accumulate", [](const Planned& p) -> Value { return p.run.batch.accumulate; }},
      {"global_batch", [](const Planned& p) -> Value { return p.run.batch.global_batch; }},
      {"tokens", [](const Planned& p) -> Value { return p.run.tokens; }},
      {"fit", [](const Planned& p) -> Value { return std::string(name(p.estimate.fit)); }},
      {"peak_memory_bytes", [](const Planned& p) -> Value { return p.estimate.peak_memory; }},
      {"memory_low", [](const Planned& p) -> Value { return p.estimate.memory_low; }},
      {"memory_high", [](const Planned& p) -> Value { return p.estimate.memory_high; }},
      {"step_low", [](const Planned& p) -> Value { return p.estimate.step_low; }},
      {"step_high", [](const Planned& p) -> Value { return p.estimate.step_high; }},
      {"step_seconds", [](const Planned& p) -> Value { return p.estimate.step_seconds; }},
      {"tflops_per_gpu", [](const Planned& p) -> Value { return p.estimate.tflops_per_gpu; }},
      {"mfu", [](const Planned& p) -> Value { return p.estimate.mfu; }},
      {"tokens_per_second", [](const Planned& p) -> Value { return p.estimate.tokens_per_second; }},
      {"days_per_100b_tokens",
       [](const Planned& p) -> Value { return p.estimate.days_per_100b_tokens; }},
      {"days_to_train", [](const Planned& p) -> Value { return p.estimate.days_to_train; }},
      {"gpu_hours", [](const Planned& p) -> Value { return p.estimate.gpu_hours; }},
      {"communicated_bytes", [](const Planned& p) -> Value { return p.estimate.communicated; }},
      {"warnings",
       [](const Planned& p) -> Value { return static_cast<std::int64_t>(p.run.warnings.size()); }},
  };
  return kFields;
}

}  // namespace

Result<Value> field(const Planned& planned, std::string_view name,
                    const std::vector<plan::StrategyPtr>& strategies) {
  for (const auto& known : fields())
    if (name == known.name) return known.value(planned);
  if (planned.run.strategy->index(name) >= 0) return planned.run.setting(name);
  std::vector<std::string> names;
  for (const auto& known : fields()) names.emplace_back(known.name);
  for (const auto& strategy : strategies) {
    if (strategy->index(name) >= 0) return Value();
    for (const auto& param : strategy->params)
      if (std::find(names.begin(), names.end(), param.name) == names.end())
        names.push_back(param.name);
  }
  return Error{printable(name), "a run has no such field", suggestion(name, names)};
}

}  // namespace orch::cli
