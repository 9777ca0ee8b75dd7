#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/result.h"
#include "core/plan/cluster.h"

namespace orch::plan {

// Seconds of a SLURM time limit: minutes, MM:SS, HH:MM:SS, D-HH, D-HH:MM or D-HH:MM:SS. The first
// number may be large (100:00:00), the others may not. Nothing for any other text, and for zero,
// which SLURM interprets as "no limit".
std::optional<double> parse_slurm_time(std::string_view text);

// The seconds before its limit at which a job is told to save: the run's value, at most half of the
// limit; else ten minutes, at most a fifth of it; never more than SLURM's maximum. Two steps are
// added: the running one, and a reserve for a wrong estimate.
std::int64_t signal_seconds(const SlurmSettings& job, double step_seconds);

// Checks that a string can stand on an #SBATCH line as the given field of plan::SlurmSettings:
// partition, account, qos, constraint, reservation, hint, gres, time, or one of options. An empty
// string is valid ("not set"), except as an option. The errors have the given place.
Status check_sbatch_word(std::string_view field, std::string_view value, const std::string& place);

// [A-Za-z_][A-Za-z0-9_]*: a name that a shell can export.
bool is_environment_name(std::string_view text);

// Checks that a job may set a variable of this name: not one of the job script's own, of bash's or
// of SLURM's, which would break the script or be overwritten by it.
Status check_environment_name(std::string_view text, const std::string& place);

// Checks that a variable may have this value: not one that a shell cannot hold, nor a secret, which
// would be stored in every folder of its runs. With `expand`, $NAMES are expanded on the node.
Status check_environment_value(std::string_view name, std::string_view value, bool expands,
                               const std::string& place);

// Variables that must be set where a job runs, because its environment refers to them: each with
// the name of a variable that needs it. Those that the job sets itself are excluded; its setup may
// set any.
std::map<std::string, std::string> needed_variables(const SlurmSettings& job);
// The shell code for the value of such a variable. In a value that extends the variable itself, an
// unset variable counts as empty.
std::string expansion(const std::string& name, const std::string& value);

// The error for an unset variable; `where` is "in the job", "on this machine".
Error unset_variable(const std::string& variable, const std::string& name, std::string_view where);

// True if a variable, or a program's option, has the name of a secret: HF_TOKEN, WANDB_API_KEY,
// --password.
bool is_secret_name(std::string_view name);
bool holds_password(std::string_view value);  // https://user:password@host

}  // namespace orch::plan
