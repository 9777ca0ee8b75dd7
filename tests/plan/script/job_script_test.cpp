#include "core/plan/script/job_script.h"

#include "tests/test.h"

using namespace orch;
using Words = std::vector<std::string>;

namespace {

Result<plan::JobScript> job_of(const std::string& text) {
  return plan::read_job_script("x.sh", text, {"pretrain_gpt.py", "torchtitan.train"}, {});
}

// GPUs, nodes and GPUs per node of a launch line.
std::vector<std::int64_t> counts(const std::string& text) {
  const auto job = job_of(text);
  REQUIRE(job);
  return {job->gpus, job->nodes, job->gpus_per_node};
}

}  // namespace

TEST_CASE("launchers and #SBATCH lines say how many GPUs there are", "[plan][script]") {
  using Counts = std::vector<std::int64_t>;
  CHECK(counts("torchrun --nproc_per_node 8 --nnodes=4 pretrain_gpt.py") == Counts{32, 4, 8});
  CHECK(counts("torchrun --standalone --nproc-per-node=4 a/pretrain_gpt.py") == Counts{4, 1, 4});
  CHECK(counts("deepspeed --num_gpus 4 --num_nodes 2 pretrain_gpt.py") == Counts{8, 2, 4});
  CHECK(counts("accelerate launch --num_processes 16 --num_machines 2 pretrain_gpt.py") ==
        Counts{16, 2, 8});
  CHECK(counts("mpirun -np 6 python pretrain_gpt.py") == Counts{6, 0, 0});
  CHECK(counts("srun -N2 -n 16 python pretrain_gpt.py") == Counts{16, 2, 8});
  CHECK(counts("#SBATCH --nodes=3 --gres=gpu:a100:8\nsrun python pretrain_gpt.py") ==
        Counts{24, 3, 8});
  CHECK(counts("#SBATCH -N 2\n#SBATCH --gpus-per-node=h100:4\nsrun torchrun --nnodes $SLURM_NNODES "
               "--nproc_per_node $SLURM_GPUS_ON_NODE -m torchtitan.train") == Counts{8, 2, 4});
  CHECK(counts("python pretrain_gpt.py") == Counts{0, 0, 0});
}

TEST_CASE("a job script is its program, its arguments and its words for SLURM", "[plan][script]") {
  const auto job = job_of(
      "#SBATCH --partition=gpu_p5 -C a100\n#SBATCH --time 20:00:00 --gres gpu:a100:8\n"
      "echo pretrain_gpt.py --never\nsrun env A=1 python -u x/pretrain_gpt.py --lr 1 | tee log\n"
      "srun python pretrain_gpt.py --again\n");
  REQUIRE(job);
  CHECK(job->program == "pretrain_gpt.py");
  CHECK(job->arguments == Words{"--lr", "1"});
  CHECK(job->line == 4);
  CHECK(job->other_lines == std::vector<int>{5});
  CHECK(job->gpu == "a100");
  CHECK(job->slurm.partition == "gpu_p5");
  CHECK(job->slurm.constraint == "a100");
  CHECK(job->slurm.time == "20:00:00");
}

TEST_CASE("a script without a known program names it and the nearest one", "[plan][script]") {
  const auto misspelt = job_of("srun python pretrain_gtp.py --lr 1");
  REQUIRE_FALSE(misspelt);
  CHECK(misspelt.error().front().text().find("did you mean 'pretrain_gpt.py'?") !=
        std::string::npos);
  const auto none = job_of("echo hello");
  REQUIRE_FALSE(none);
  CHECK(none.error().front().fact == "it starts no training program that is known");
}
