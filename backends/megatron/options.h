#pragma once

#include "backends/megatron/pipeline.h"
#include "backends/runtime/step/reducer.h"
#include "core/plan/run.h"

namespace orch::megatron {

// What a run says to the parts of the engine.
train::ParameterLayout layout_of(const plan::Run& run, const train::Mesh& mesh);
train::ParameterOptions parameter_options(const plan::Run& run, train::World& world,
                                          std::vector<train::Range> owned);
PipelineOptions pipeline_options(const plan::Run& run, train::Mesh& mesh, train::Profile& profile,
                                 train::LayerHooks hooks);
train::BucketOptions bucket_options();
train::ReducerOptions reducer_options(const plan::Run& run, bool sharded);

std::string schedule_name(const plan::Run& run);  // "none", "1F1B", "interleaved", "filled 1F1B"

// The run itself. Throws Failed("bad_exit") with all that this trainer cannot do of it: orch checks
// most of that before, but run.json may have been written by hand.
const plan::Run& checked(const plan::Run& run);

}  // namespace orch::megatron
