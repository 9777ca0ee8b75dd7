#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/show/tables/columns.h"
#include "core/show/tables/status.h"

namespace orch::tables {

// The length of the common prefix of all ids, up to a '-', which a table need not repeat.
std::size_t common_prefix(const std::vector<RunStatus>& runs);

// The cells of a run, without control characters; empty if unknown.
std::string id_text(const RunStatus& run, std::size_t from = 0);  // from this character on
std::string state_text(const RunStatus& run);  // "failed", "running?" if it hangs
std::string step_text(const RunStatus& run);   // "120/500"
std::string loss_text(const RunStatus& run);
std::string evaluation_text(const RunStatus& run);  // the loss on held-out data
std::string left_text(const RunStatus& run);        // time to the last step
std::string measured_step_text(const RunStatus& run);
std::string estimated_step_text(const RunStatus& run);  // with its range
std::string ratio_text(const RunStatus& run);           // measured over estimated
// "compression=powersgd", "accumulate=4": settings that all these runs share, if there are several.
std::set<std::string> shared_settings(const std::vector<const RunStatus*>& runs);
// Its strategy, and its settings except these.
std::string strategy_text(const RunStatus& run, const std::set<std::string>& shared);
// The largest share of the machine that other programs used while one of these trained; nothing:
// unknown.
std::optional<double> others_share(const std::vector<const RunStatus*>& runs);
std::string reason_text(const RunStatus& run);
std::string duration_text(double seconds);  // in SLURM's format

// The share of its steps that a run has done, from 0 to 1.
double share_done(const RunStatus& run);

}  // namespace orch::tables
