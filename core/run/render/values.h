#pragma once

#include "core/plan/lua/sandbox.h"
#include "core/run/render/template.h"

namespace orch::render {

// Sets the globals that a template can use: run, model, settings, phase, job, orch. They replace
// those of the previous render.
void set_values(sol::state& lua, const plan::Run& run, const PhaseContext& phase,
                const Context& context);

// The seconds before its limit at which a job is told to save: the run's value, at most half of the
// limit; else ten minutes, at most a fifth of it; never more than SLURM's maximum. Two steps are
// added: the running one, and a reserve for a wrong estimate.
std::int64_t signal_seconds(const plan::SlurmSettings& job, double step_seconds);

}  // namespace orch::render
