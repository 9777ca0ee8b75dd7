#include "core/base/files.h"
#include "core/plan/hardware/hardware.h"
#include "tests/place.h"
#include "tests/plan/hardware/toy.h"
#include "tests/test.h"

// Clusters and GPUs that are like another one and contain only the differences.
namespace orch::hardware {
namespace {

// Two folders of clusters, two files of GPUs, removed at the end; toy is in the second.
struct Site : TestFolder {
  Site() {
    fs::create_directories(root() / "mine");
    fs::create_directories(root() / "shipped");
    file("gpus.yaml", toy::kGpus);
    file("mine/gpus.yaml",
         "better:\n  like: toy\n  memory_bandwidth: { value: 3 TB/s, origin: b }\n");
    file("shipped/toy.yaml", toy::kCluster);
  }
  Result<std::shared_ptr<const plan::Cluster>> find(const std::string& name) const {
    Catalog catalog({root() / "mine", root() / "shipped"},
                    {root() / "mine/gpus.yaml", root() / "gpus.yaml"});
    return catalog.find(name);
  }
  plan::Cluster ours(const std::string& text) const {
    file("mine/ours.yaml", text);
    const auto found = find("ours");
    if (!found) FAIL(orch::text(found.error()));
    return **found;
  }
  // The error messages, without the folder.
  std::string complaint(const std::string& text) const {
    file("mine/ours.yaml", text);
    const auto found = find("ours");
    if (found) return "";
    auto said = orch::text(found.error());
    for (auto at = said.find(root().string()); at != std::string::npos;
         at = said.find(root().string()))
      said.erase(at, root().string().size() + 1);
    return said;
  }
};

TEST_CASE("a cluster in five lines has the rest of the one it is like", "[hardware][like]") {
  const auto ours =
      Site().ours("name: ours\nlike: toy\npartitions:\n  - name: small\n    nodes: 24\n");
  CHECK(ours.like == "toy");
  CHECK(ours.doc == "like toy");
  CHECK(ours.launch == "slurm");
  REQUIRE(ours.partitions.size() == 1);
  const auto& small = ours.partitions.front();
  CHECK(small.nodes == 24);
  CHECK(small.gpus_per_node == 8);
  CHECK(small.gpu.name == "toy");
  CHECK(small.network.bandwidth.value == 25e9);
  CHECK(small.network.bandwidth.origin == "sheet");
  CHECK(small.slurm.partition == "gpu_p5");
  CHECK(small.slurm.options.size() == 2);
}

TEST_CASE("single constants, words and variables differ, the others stay", "[hardware][like]") {
  const auto ours = Site().ours(
      "name: ours\nlike: toy\ndoc: our own\nlaunch: auto\npartitions:\n"
      "  - name: small\n"
      "    network: { efficiency: { value: 0.5, origin: measured } }\n"
      "    slurm: { account: me@gpu, options: [--exclusive], environment: { A: b } }\n");
  const auto& small = ours.partitions.front();
  CHECK(ours.doc == "our own");
  CHECK(ours.launch == "auto");
  CHECK(small.network.efficiency.value == 0.5);
  CHECK(small.network.latency.value ==
        toy::cluster(toy::kCluster)->partitions.front().network.latency.value);
  CHECK(small.slurm.account == "me@gpu");
  CHECK(small.slurm.time == "20:00:00");
  CHECK(small.slurm.options == std::vector<std::string>{"--exclusive"});
  CHECK(small.slurm.environment ==
        std::map<std::string, std::string>{{"A", "b"}, {"NCCL_DEBUG", "WARN"}});
}

TEST_CASE("another name, and a partition for each kind of node", "[hardware][like]") {
  const auto ours = Site().ours(
      "name: ours\nlike: toy\npartitions:\n  - name: many\n    nodes: 90\n"
      "  - name: few\n    like: small\n    gpus_per_node: 4\n");
  REQUIRE(ours.partitions.size() == 2);
  CHECK(ours.find("many")->nodes == 90);
  CHECK(ours.find("few")->nodes == 4);
  CHECK(ours.find("few")->gpus_per_node == 4);
  CHECK(Site().ours("name: ours\nlike: toy\n").partitions.front().name == "small");
}

TEST_CASE("what was fitted holds over what differs, but for another GPU", "[hardware][like]") {
  const Site site;
  site.file("shipped/toy.yaml", toy::kCluster +
                                    "    fitted:\n"
                                    "      gemm: { value: 0.6, origin: \"fitted: rows\" }\n");
  const std::string head = "name: ours\nlike: toy\npartitions:\n  - name: small\n";
  const auto same = site.ours(head + "    network: { latency: { value: 9 us, origin: o } }\n");
  const auto& tuned = same.partitions.front().as_measured();
  CHECK(tuned.efficiency.gemm.value == 0.6);
  CHECK(tuned.network.latency.value == 9e-6);
  const auto other = site.ours(head + "    gpu: better\n");
  CHECK_FALSE(other.partitions.front().calibration);
  CHECK(other.partitions.front().gpu.memory_bandwidth.value == 3e12);
  CHECK(other.partitions.front().gpu.peak("fp16").value == 300e12);
}

TEST_CASE("a cluster may be like one of its own name in a later folder", "[hardware][like]") {
  const Site site;
  site.file("mine/toy.yaml",
            "name: toy\nlike: toy\npartitions: [{ name: small, slurm: { account: me } }]\n");
  const auto found = site.find("toy");
  REQUIRE(found);
  CHECK((*found)->partitions.front().slurm.account == "me");
  CHECK((*found)->partitions.front().nodes == 4);
}

TEST_CASE("what a cluster is like must be there, and come to an end", "[hardware][like]") {
  const Site site;
  CHECK_THAT(
      site.complaint("name: ours\nlike: tyo\n"),
      StartsWith("mine/ours.yaml:2: like: no cluster is called 'tyo'\n  did you mean 'toy'?"));
  CHECK_THAT(site.complaint("name: ours\nlike: ours\n"),
             StartsWith("mine/ours.yaml:2: like: 'ours' is like itself\n  name another cluster"));
  site.file("mine/theirs.yaml", "name: theirs\nlike: ours\n");
  CHECK(site.complaint("name: ours\nlike: theirs\n") ==
        "mine/theirs.yaml:2: like: circular: ours is like theirs is like ours\n"
        "  let one of them have its own numbers");
  CHECK(site.complaint("name: ours\nlike: toy\npartitions:\n  - name: a\n    like: smal\n") ==
        "mine/ours.yaml:5: partitions[1].like: toy has no partition 'smal'\n"
        "  did you mean 'small'?");
  CHECK_THAT(site.complaint("name: ours\nlike: toy\npartitions:\n  - name: a\n    gpu: tyo\n"),
             StartsWith("mine/ours.yaml:5: partitions[1].gpu: no GPU is called 'tyo'\n"
                        "  did you mean 'toy'?"));
  CHECK_THAT(site.complaint("name: ours\nlike: toy\npartitions:\n  - name: a\n"
                            "    slurm: { time: \"00:05:00\" }\n"),
             ContainsSubstring("600 s before the end is not within a time of 00:05:00"));
  CHECK_THAT(toy::complaint("gpu: toy", "like: toy"),
             ContainsSubstring("partitions[1].like: the cluster is like no other"));
}

TEST_CASE("GPUs of an earlier file count, and build on the later ones", "[hardware][like]") {
  const auto below = toy::gpus();
  const auto gpus = parse_gpus(
      "c: { like: b }\n"
      "b: { like: toy, peak: { fp8: { value: 600 TFLOPs, origin: o } } }\n"
      "toy: { like: toy, memory: { value: 96 GiB, origin: o } }\n",
      "mine/gpus.yaml", below);
  if (!gpus) FAIL(text(gpus.error()));
  const auto& c = gpus->at("c");
  CHECK(c.gpu.name == "c");
  CHECK(c.like == "b");
  CHECK(c.file == "mine/gpus.yaml");
  CHECK(c.gpu.peak("fp8").value == 600e12);
  CHECK(c.gpu.peak("fp32").value == 20e12);
  CHECK(c.gpu.memory.value == gpus->at("toy").gpu.memory.value);  // that of its own file
  CHECK(gpus->at("toy").gpu.memory.value == 96 * 1024.0 * 1024 * 1024);
  CHECK(below.at("toy").file == "gpus.yaml");
}

TEST_CASE("what a GPU is like must be there, and come to an end", "[hardware][like]") {
  const auto said = [](const std::string& gpus) {
    const auto read = parse_gpus(gpus, "gpus.yaml", toy::gpus());
    return read ? "" : text(read.error());
  };
  CHECK(said("a: { like: tyo }\n") ==
        "gpus.yaml:1: a.like: no GPU is called 'tyo'\n  did you mean 'toy'?");
  CHECK_THAT(said("a: { like: b }\nb: { like: a }\n"),
             ContainsSubstring("gpus.yaml:2: b.like: circular: 'a' is like itself in the end"));
  CHECK_THAT(said("a: { like: a }\n"), StartsWith("gpus.yaml:1: a.like: no GPU is called 'a'"));
  CHECK_THAT(said("a: { like: toy, peak: { \"f p\": { value: 1 TFLOPs, origin: o } } }\n"),
             ContainsSubstring("a.peak.f p: not a name for a number format"));
}

}  // namespace
}  // namespace orch::hardware
