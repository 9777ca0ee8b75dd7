#include "core/run/launch/environment.h"

#include <catch2/catch_test_macros.hpp>

using orch::launch::is_handed_on;

TEST_CASE("what the job we run in says of itself is kept from programs", "[launch]") {
  for (const auto* name : {"SLURM_JOB_ID",
                           "SLURM_CPU_BIND",
                           "SLURMD_NODENAME",
                           "SBATCH_ACCOUNT",
                           "SRUN_CPUS_PER_TASK",
                           "SQUEUE_FORMAT",
                           "SACCT_FORMAT",
                           "SINFO_FORMAT",
                           "SALLOC_PARTITION",
                           "PMIX_RANK",
                           "PMI_FD",
                           "OMPI_COMM_WORLD_RANK",
                           "RANK",
                           "LOCAL_RANK",
                           "WORLD_SIZE",
                           "MASTER_ADDR",
                           "MASTER_PORT",
                           "CUDA_VISIBLE_DEVICES",
                           "ORCH_RUN_FOLDER",
                           "ORCH_ATTEMPT_FOLDER",
                           "ORCH_PHASE",
                           "ORCH_PHASE_SAMPLES",
                           "ORCH_SUBMISSION"})
    CHECK_FALSE(is_handed_on(name));
}

TEST_CASE("where the cluster is and what the user set for his jobs is handed on", "[launch]") {
  for (const auto* name : {"SLURM_CONF", "PATH", "HOME", "ORCH_TRAINER", "ORCH_NODE_CHECK",
                           "ORCH_MAX_RESTARTS", "NCCL_DEBUG", "RANKING", "SLURMISH"})
    CHECK(is_handed_on(name));
}
