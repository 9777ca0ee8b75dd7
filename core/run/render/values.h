#pragma once

#include "core/plan/lua/sandbox.h"
#include "core/run/render/template.h"

namespace orch::render {

// Sets the globals that a template can name: run, model, settings, phase, job, orch. They replace
// those of the render before.
void set_values(sol::state& lua, const plan::Run& run, const PhaseContext& phase,
                const Context& context);

// How long before its limit a job is told to save: what the run says, at most half of the limit;
// else ten minutes, at most a fifth of it. Never more than SLURM can count.
// Two steps come on top: one that is running, and one in reserve for a wrong estimate.
std::int64_t signal_seconds(const plan::Slurm& job, double step_seconds);

}  // namespace orch::render
