#pragma once

#include "core/plan/lua/sandbox.h"
#include "core/run/render/template.h"

namespace orch::render {

// Sets the globals that a template can use: run, model, settings, phase, job, orch. They replace
// those of the previous render.
void set_values(sol::state& lua, const plan::Run& run, const PhaseContext& phase,
                const Context& context);

}  // namespace orch::render
