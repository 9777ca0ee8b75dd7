#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/result.h"
#include "core/plan/cluster.h"

namespace orch::plan {

// Seconds of a SLURM time limit: minutes, MM:SS, HH:MM:SS, D-HH, D-HH:MM or D-HH:MM:SS. The first
// number may be large (100:00:00), the others may not. Nothing for any other text, and for zero,
// which SLURM reads as "no limit".
std::optional<double> parse_slurm_time(std::string_view text);

// Whether a string can stand on an #SBATCH line as what the field of plan::Slurm says it is:
// partition, account, qos, constraint, reservation, hint, gres, time, or one of options. An empty
// text is fine ("do not say it"), but not as one of options. The errors carry the given place.
Status check_sbatch_word(std::string_view field, std::string_view value, const std::string& place);

// [A-Za-z_][A-Za-z0-9_]*: what a shell can export.
bool is_environment_name(std::string_view text);

// Whether a job may be given a variable of this name: not one of the job script's own, of bash's or
// of SLURM's, which would break the script or be overwritten by it.
Status check_environment_name(std::string_view text, const std::string& place);

// Whether a variable may have this value: not one that a shell cannot hold, nor a secret, which
// would stand in every folder of its runs. Where it expands, $NAMES are filled in on the node.
Status check_environment_value(std::string_view name, std::string_view value, bool expands,
                               const std::string& place);

// Variables that must be set where a job runs, since its environment expands them: each with the
// name of one that needs it. Those that the job sets itself are not among them; its setup may set
// any.
std::map<std::string, std::string> needed_variables(const Slurm& job);
// The word of a shell that such a variable is set to; nothing where it adds to itself and is not
// set.
std::string expansion(const std::string& name, const std::string& value);

// What is wrong where one of them is not set, for a person; `where` is "in the job", "on this
// machine".
Error unset_variable(const std::string& variable, const std::string& name, std::string_view where);

// Whether a variable, or a flag of a program, is called like something that nobody else should see:
// HF_TOKEN, WANDB_API_KEY, --password.
bool is_secret_name(std::string_view name);
bool holds_password(std::string_view value);  // https://user:password@host

}  // namespace orch::plan
