#include "backends/megatron/stages.h"

#include <algorithm>

#include "backends/megatron/settings.h"
#include "backends/runtime/step/settings.h"
#include "core/train/pipeline/partition.h"

namespace orch::megatron {

using namespace train;
using namespace pipeline;

std::vector<LayerSpan> spans_of(const plan::Run& run, std::int64_t stage) {
  const auto chunks = settings.interleave(run), stages = run.layout.pipeline_parallel;
  const auto layers = run.model.layers;
  const StagePartition partition{layers, stages,
                                 settings.stage_partition(run) == "transformer|embedding",
                                 settings.partition_rule.or_default(run) != "portions",
                                 parse_layers(settings.stage_layers.or_default(run))};
  std::vector<LayerSpan> spans;
  for (std::int64_t chunk = 0; chunk < chunks; ++chunk) {
    const auto place = chunk * stages + stage, places = chunks * stages;
    LayerSpan span{0, 0, place == 0, place + 1 == places};
    if (chunks > 1) {
      span.first = place * layers / places;
      span.end = (place + 1) * layers / places;
    } else {
      for (std::int64_t before = 0; before < stage; ++before)
        span.first += partition.layers_on(before);
      span.end = span.first + partition.layers_on(stage);
    }
    spans.push_back(span);
  }
  return spans;
}

std::vector<ParameterSpec> specs_of(const plan::Run& run, std::int64_t stage) {
  const auto& model = run.model;
  const auto vocab = padded_vocab(model, settings.vocab_multiple(run) * run.layout.tensor_parallel);
  auto spans = spans_of(run, stage);
  std::reverse(spans.begin(), spans.end());
  std::vector<ParameterSpec> specs;
  for (const auto& span : spans) {
    const auto some = parameter_specs(model, span, vocab);
    specs.insert(specs.end(), some.begin(), some.end());
  }
  std::stable_partition(specs.begin(), specs.end(),
                        [](const auto& spec) { return spec.name != kWords; });
  return specs;
}

}  // namespace orch::megatron
