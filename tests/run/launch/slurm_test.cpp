#include <catch2/catch_test_macros.hpp>

#include "core/run/launch/slurm/slurm_client.h"
#include "tests/run/launch/fake_shell.h"

using orch::FakeShell;
using orch::launch::probe_slurm;
using orch::launch::SlurmAnswer;

TEST_CASE("SLURM is absent without its commands, or without a cluster they know",
          "[launch][slurm]") {
  FakeShell shell;
  CHECK(probe_slurm(shell) == SlurmAnswer::absent);
  shell.always("scontrol",
               {1, "", "scontrol: fatal: Could not establish a configuration source\n"});
  CHECK(probe_slurm(shell) == SlurmAnswer::absent);
  shell.always("scontrol", {0, "Slurmctld(primary) at vm is UP\n", ""});
  CHECK(probe_slurm(shell) == SlurmAnswer::absent);  // no sbatch
}

TEST_CASE("it is unreachable while its controller does not answer", "[launch][slurm]") {
  FakeShell shell;
  shell.always("sbatch", {0, "slurm-wlm 22.05.8\n", ""});
  shell.always("scontrol", {1, "Slurmctld(primary) at vm is DOWN\n", ""});
  CHECK(probe_slurm(shell) == SlurmAnswer::unreachable);
  shell.always("scontrol", {143, "", "", true});
  CHECK(probe_slurm(shell) == SlurmAnswer::unreachable);
  shell.always("scontrol", {0, "Slurmctld(primary) at vm is UP\n", ""});
  CHECK(probe_slurm(shell) == SlurmAnswer::reachable);
}
