#pragma once

#include "core/base/files.h"
#include "core/record/facts.h"

namespace orch::events {

// The last event "failed" of an attempt, its message printable and cut to about 200 characters;
// none if there is no such event.
record::Confession read_failure(const fs::path& attempt_folder);

}  // namespace orch::events
