#include "core/run/launch/environment.h"

#include <algorithm>
#include <array>

namespace orch::launch {
namespace {

using std::string_view_literals::operator""sv;

// The address of the cluster, and our credentials there.
constexpr std::array kKept{"SLURM_CONF"sv, "SLURM_JWT"sv};

constexpr std::array kPrefixes{"SLURM_"sv, "SLURMD_"sv, "SBATCH_"sv, "SRUN_"sv,     "SQUEUE_"sv,
                               "SACCT_"sv, "SINFO_"sv,  "SALLOC_"sv, "SCANCEL_"sv,  "SCONTROL_"sv,
                               "PMIX_"sv,  "PMI_"sv,    "OMPI_"sv,   "ORCH_PHASE"sv};

constexpr std::array kNames{"RANK"sv,
                            "LOCAL_RANK"sv,
                            "GROUP_RANK"sv,
                            "NODE_RANK"sv,
                            "WORLD_SIZE"sv,
                            "LOCAL_WORLD_SIZE"sv,
                            "MASTER_ADDR"sv,
                            "MASTER_PORT"sv,
                            "CUDA_VISIBLE_DEVICES"sv,
                            "ROCR_VISIBLE_DEVICES"sv,
                            "HIP_VISIBLE_DEVICES"sv,
                            "GPU_DEVICE_ORDINAL"sv,
                            "ORCH_RUN_FOLDER"sv,
                            "ORCH_ATTEMPT_FOLDER"sv,
                            "ORCH_DATA_PARALLEL"sv,
                            "ORCH_SUBMISSION"sv};

}  // namespace

bool is_handed_on(std::string_view variable) {
  if (std::ranges::find(kKept, variable) != kKept.end()) return true;
  if (std::ranges::find(kNames, variable) != kNames.end()) return false;
  return std::ranges::none_of(kPrefixes, [&](auto prefix) { return variable.starts_with(prefix); });
}

}  // namespace orch::launch
