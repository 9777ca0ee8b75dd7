#include "core/run/launch/slurm/preflight.h"

#include <catch2/catch_test_macros.hpp>

#include "core/run/launch/slurm/slurm_client.h"
#include "tests/run/launch/fake_shell.h"

namespace {

using namespace orch;
using namespace orch::launch;

// As printed by 22.05.8.
const Output kConfig{0,
                     "Configuration data as of 2026-11-15T08:00:00\n"
                     "ClusterName             = north\n"
                     "MaxArraySize            = 1001\n"
                     "MaxJobCount             = 10000\n"
                     "SLURM_VERSION           = 22.05.8\n\nSlurmctld(primary) at vm is UP\n",
                     ""};
const Output kPartitions{
    0,
    "PartitionName=gpu_p13 AllowGroups=ALL AllowAccounts=ALL AllowQos=ALL Default=YES "
    "MaxNodes=UNLIMITED MaxTime=4-04:00:00 Nodes=v100-[1-3] State=UP TotalCPUs=120 TotalNodes=3\n"
    "PartitionName=gpu_p5 AllowGroups=ALL AllowAccounts=six@a100,seven AllowQos=qos_gpu-t3 "
    "Default=NO MaxNodes=2 MaxTime=20:00:00 Nodes=a100-[1-3] State=UP TotalNodes=3\n"
    "PartitionName=old AllowAccounts=ALL AllowQos=ALL Default=NO MaxNodes=UNLIMITED "
    "MaxTime=UNLIMITED Nodes=x State=DOWN TotalNodes=1\n",
    ""};
const Output kNodes{0,
                    "gpu_p13|1|gpu:v100:4|v100-16g|mixed\n"
                    "gpu_p13|2|gpu:v100:4(S:0-1)|v100-32g|idle\n"
                    "gpu_p5|3|gpu:a100:8(S:0,1),nvme:1|a100,nvme|idle\n"
                    "old|1|(null)|(null)|down*\n",
                    ""};

Errors check(const JobRequest& ask) {
  FakeShell shell;
  shell.once("scontrol", kConfig);
  shell.once("scontrol", kPartitions);
  shell.once("sinfo", kNodes);
  const auto facts = SlurmClient(shell).facts();
  REQUIRE(facts);
  return preflight(*facts, {ask}).error();
}

// The only error.
Error error_of(const JobRequest& ask) {
  const auto errors = check(ask);
  INFO(text(errors));
  REQUIRE(errors.size() == 1);
  CHECK(errors[0].place == ask.place);
  return errors[0];
}

JobRequest a100() {
  return {"north.yaml: a100", "gpu_p5", "20:00:00", 2, "gpu:8", "a100&nvme", "seven", "qos_gpu-t3"};
}

}  // namespace

TEST_CASE("what the cluster has is no error", "[launch][slurm]") {
  CHECK(check(a100()).empty());
  CHECK(check({"p", "", "100:00:00", 3, "gpu:v100:4", "v100-16g|v100-32g", "any", "any"}).empty());
  CHECK(check({"p", "gpu_p13", "", 1, "", "", "", ""}).empty());
  CHECK(check({"p", "gpu_p13", "", 2, "gpu:4", "[v100-32g*2]", "", ""}).empty());
}

TEST_CASE("a partition that is not there, with a guess", "[launch][slurm]") {
  auto ask = a100();
  ask.partition = "gpu_p15";
  const auto error = error_of(ask);
  CHECK(error.fact == "no partition 'gpu_p15' on cluster north");
  CHECK(error.fix.find("did you mean 'gpu_p") != std::string::npos);
}

TEST_CASE("a partition that is down", "[launch][slurm]") {
  CHECK(error_of({"p", "old", "", 1, "", "", "", ""}).fact == "partition old is DOWN");
}

TEST_CASE("a time over the partition's limit", "[launch][slurm]") {
  auto ask = a100();
  ask.time = "20:00:01";
  auto error = error_of(ask);
  CHECK(error.fact == "time 20:00:01 is over the limit of partition gpu_p5");
  CHECK(error.fix == "ask for 20:00:00 or less");
  ask.time = "tomorrow";
  CHECK(error_of(ask).fact == "no time limit: 'tomorrow'");
}

TEST_CASE("more nodes than it has, or allows", "[launch][slurm]") {
  auto ask = a100();
  ask.nodes = 5;
  CHECK(error_of(ask).fact == "5 nodes, but partition gpu_p5 has 3");
  ask.nodes = 3;
  CHECK(error_of(ask).fact == "3 nodes, but partition gpu_p5 allows a job only 2");
}

TEST_CASE("GPUs of a kind or a count that no node has", "[launch][slurm]") {
  auto ask = a100();
  ask.gres = "gpu:h100:8";
  auto error = error_of(ask);
  CHECK(error.fact == "gres 'gpu:h100': no node of partition gpu_p5 has it");
  CHECK(error.fix == "did you mean 'gpu:a100'?");
  ask.gres = "gpu:16";
  error = error_of(ask);
  CHECK(error.fact == "gres gpu:16, but a node of partition gpu_p5 has at most 8");
}

TEST_CASE("a feature that no node has, with a guess", "[launch][slurm]") {
  const auto error = error_of({"p", "gpu_p13", "", 1, "gpu:4", "v100-36g", "", ""});
  CHECK(error.fact == "constraint 'v100-36g': no node of partition gpu_p13 has it");
  CHECK(error.fix == "did you mean 'v100-16g'?");
}

TEST_CASE("too few nodes that have it all", "[launch][slurm]") {
  CHECK(error_of({"p", "gpu_p13", "", 3, "gpu:4", "v100-32g", "", ""}).fact ==
        "3 nodes with gres 'gpu:4' and constraint 'v100-32g', but partition gpu_p13 has 2");
  CHECK(error_of({"p", "gpu_p13", "", 1, "", "v100-32g&v100-16g", "", ""})
            .fact.starts_with("1 nodes with gres '' and constraint"));
}

TEST_CASE("an account or a qos that may not use it", "[launch][slurm]") {
  auto ask = a100();
  ask.account = "six@a10";
  ask.qos = "qos_gpu-t4";
  const auto errors = check(ask);
  REQUIRE(errors.size() == 2);
  CHECK(errors[0].fix == "did you mean 'six@a100'?");
  CHECK(errors[1].fact == "qos 'qos_gpu-t4' may not use partition gpu_p5");
}

TEST_CASE("every contradiction at once", "[launch][slurm]") {
  CHECK(check({"p", "gpu_p5", "21:00:00", 9, "gpu:9", "fast", "", ""}).size() == 4);
}

TEST_CASE("an array has as many tasks as MaxArraySize, for that caps the index",
          "[launch][slurm]") {
  ClusterFacts facts;
  parse_config(kConfig.out, facts);
  CHECK(facts.name == "north");
  CHECK(facts.version == "22.05.8");
  CHECK(facts.max_array_size == 1001);
}
