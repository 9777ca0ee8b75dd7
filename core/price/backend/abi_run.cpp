#include "core/price/backend/abi_run.h"

#include <algorithm>
#include <span>

#include "core/base/result.h"
#include "core/price/backend/abi_value.h"

namespace orch::backend {
namespace {

// Those that are other than in an empty model.
std::uint32_t to_abi(const plan::Model& model, std::span<orch_size> sizes) {
  static const plan::Model kEmpty;
  std::uint32_t count = 0;
  for (const auto& size : plan::kSizes)
    if (const double value = get_size(model, size); value != get_size(kEmpty, size))
      sizes[count++] = {size.name, value};
  return count;
}

}  // namespace

AbiRun::AbiRun(const plan::Run& run, std::uint32_t strategy) {
  const auto& params = run.strategy->params;
  ORCH_CHECK(run.settings.size() == params.size(), "every setting of a run has a value");
  if (params.size() > few_.size()) many_.resize(params.size());
  const std::span values(many_.empty() ? few_.data() : many_.data(), params.size());
  for (std::size_t i = 0; i < params.size(); ++i)
    values[i] = to_abi(run.settings[i], params[i].type);
  run_.struct_size = sizeof run_;
  run_.strategy = strategy;
  run_.values = values.data();
  run_.n_values = static_cast<std::uint32_t>(values.size());
  run_.family = run.model.family.c_str();
  run_.sizes = sizes_.data();
  run_.n_sizes = to_abi(run.model, sizes_);
  run_.size_size = sizeof(orch_size);
  run_.gpus = run.gpus;
  run_.nodes = run.nodes;
  run_.gpus_per_node = run.partition ? run.partition->gpus_per_node
                                     : run.gpus / std::max<std::int64_t>(run.nodes, 1);
  run_.tensor_parallel = run.layout.tensor_parallel;
  run_.pipeline_parallel = run.layout.pipeline_parallel;
  run_.data_parallel = run.layout.data_parallel;
  run_.context_parallel = run.layout.context_parallel;
  run_.micro_batch = run.batch.micro_batch;
  run_.accumulate = run.batch.accumulate;
  run_.global_batch = run.batch.global_batch;
}

}  // namespace orch::backend
