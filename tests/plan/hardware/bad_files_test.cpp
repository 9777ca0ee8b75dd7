#include "core/plan/hardware/hardware.h"
#include "tests/plan/hardware/toy.h"
#include "tests/test.h"

namespace orch::hardware {
namespace {

using toy::complaint;
using toy::kCluster;
using toy::kGpus;
using toy::replaced;

TEST_CASE("a sound cluster file gives its values in base units", "[hardware]") {
  const auto cluster = toy::cluster(kCluster);
  REQUIRE(cluster);
  REQUIRE(cluster->partitions.size() == 1);
  const auto& partition = cluster->partitions[0];
  CHECK(cluster->name == "toy");
  CHECK(cluster->launch == "slurm");
  CHECK(partition.gpu.memory.value == 85899345920.0);
  CHECK(partition.gpu.peak("bf16").value == 0);
  CHECK(partition.intra_node.bandwidth.value == 300e9);
  CHECK(partition.intra_node.bandwidth.origin == "sheet");
  CHECK(partition.network.bandwidth.value == 25e9);
  CHECK(partition.slurm.signal_seconds == 600);
  CHECK(partition.host_memory.value == 549755813888.0);
  CHECK(partition.efficiency.gemm.value == 0.7);
  CHECK(partition.slurm.account == "six@a100");
  CHECK(partition.slurm.options == std::vector<std::string>{"--exclusive", "--mem=0"});
  CHECK(partition.slurm.environment.at("NCCL_DEBUG") == "WARN");
  CHECK(partition.slurm.setup == "module purge\n");
}

TEST_CASE("a site overrides single constants of a GPU and keeps the others", "[hardware]") {
  const auto cluster =
      toy::cluster(replaced(kCluster, "    nodes: 4\n",
                            "    nodes: 4\n"
                            "    gpu_constants: { usable_memory: { value: 70 GiB, "
                            "origin: here } }\n"
                            "    efficiency: { gemm: { value: 0.5, origin: here } }\n"));
  REQUIRE(cluster);
  const auto& partition = cluster->partitions[0];
  CHECK(partition.gpu.usable_memory.value == 70 * 1073741824.0);
  CHECK(partition.gpu.usable_memory.origin == "here");
  CHECK(partition.gpu.memory_bandwidth.value == 2e12);
  CHECK(partition.efficiency.gemm.value == 0.5);
  CHECK(partition.efficiency.attention.value == 0.3);
}

TEST_CASE("text that is not YAML is answered with its line", "[hardware]") {
  CHECK_THAT(complaint("gpus_per_node: 8", "gpus_per_node: [8"),
             StartsWith("toy.yaml:") && ContainsSubstring("not valid YAML"));
  CHECK_THAT(complaint("launch: slurm", "launch: \"slurm"), ContainsSubstring("not valid YAML"));
  CHECK_THAT(complaint("doc: a toy", "doc: a: toy"), StartsWith("toy.yaml:2: not valid YAML"));
  CHECK_THAT(complaint("gpu: toy", "gpu: *nowhere"), StartsWith("toy.yaml:6: not valid YAML"));
  CHECK_THAT(complaint("doc: a toy", "\tdoc: a toy"), ContainsSubstring("not valid YAML"));
}

// yaml-cpp itself reads a lone comma endlessly.
TEST_CASE("what follows the document is neither dropped nor read for ever", "[hardware]") {
  for (const auto* more : {"---\na: 1\n", "...\na: 1\n"})
    CHECK_THAT(text(toy::cluster(kCluster + more).error()),
               ContainsSubstring(": text after the end of the document"));
  CHECK_THAT(text(toy::cluster(kCluster + "}\n").error()),
             StartsWith("toy.yaml:34: not valid YAML"));
  CHECK_THAT(text(toy::cluster("- a\nb: 2\n").error()),
             StartsWith("toy.yaml:2: text after the end of the document"));
  for (const auto* alone : {",", ", c", "]", "how: ] x", "a: b\n, c"})
    CHECK_FALSE(toy::cluster(alone));
}

TEST_CASE("deep nesting is refused, not overflowed", "[hardware]") {
  const auto read = toy::cluster(std::string(100000, '['));
  REQUIRE_FALSE(read);
  CHECK_THAT(text(read.error()), ContainsSubstring("toy.yaml"));
}

TEST_CASE("an empty file, a list and a second document are told apart", "[hardware]") {
  CHECK_THAT(text(toy::cluster("").error()), StartsWith("toy.yaml: the file is empty"));
  CHECK_THAT(text(toy::cluster("# nothing\n").error()), StartsWith("toy.yaml: the file is empty"));
  CHECK_THAT(text(toy::cluster("- a\n").error()),
             StartsWith("toy.yaml:1: a list where a map belongs"));
  CHECK_THAT(text(toy::cluster("42").error()),
             StartsWith("toy.yaml:1: a single value where a map belongs"));
  CHECK_THAT(text(toy::cluster("a: 1\n---\nb: 2\n").error()),
             StartsWith("toy.yaml:2: text after the end of the document"));
  CHECK_THAT(text(parse_gpus("", "gpus.yaml").error()), StartsWith("gpus.yaml: the file is empty"));
}

TEST_CASE("an unknown key is named with its path and a guess", "[hardware]") {
  CHECK(complaint("gpus_per_node: 8", "gpus_per_node: 8\n    gpus_per_nod: 8") ==
        "toy.yaml:8: partitions[1].gpus_per_nod: no such field\n  did you mean 'gpus_per_node'?");
  CHECK(complaint("      account:", "      acount:") ==
        "toy.yaml:26: partitions[1].slurm.acount: no such field\n  did you mean 'account'?");
  CHECK(complaint("doc: a toy", "zzz: 1") ==
        "toy.yaml:2: zzz: no such field\n  one of: name, doc, like, launch, measured, operation, "
        "partitions");
}

TEST_CASE("a missing key is named with what to write", "[hardware]") {
  CHECK(complaint("launch: slurm\n", "") ==
        "toy.yaml:1: 'launch' is missing\n  add launch: slurm, local or auto");
  CHECK(complaint("      latency: { value: 20 us, origin: guess }\n", "") ==
        "toy.yaml:13: partitions[1].network: 'latency' is missing\n"
        "  add latency: { value: 5 us, origin: \"where it comes from\" }");
  CHECK(complaint("value: 300 GB/s, ", "") ==
        "toy.yaml:10: partitions[1].intra_node.bandwidth: 'value' is missing\n"
        "  add value: 300 GB/s");
}

TEST_CASE("a number without an origin is refused", "[hardware]") {
  CHECK_THAT(complaint("{ value: 300 GB/s, origin: sheet }", "300 GB/s"),
             StartsWith("toy.yaml:10: partitions[1].intra_node.bandwidth: '300 GB/s' does not say "
                        "where it comes from"));
  CHECK_THAT(complaint("{ value: 300 GB/s, origin: sheet }", "{ value: 300 GB/s }"),
             ContainsSubstring("'origin' is missing"));
  CHECK_THAT(complaint("{ value: 300 GB/s, origin: sheet }", "{ value: 300 GB/s, origin: '' }"),
             StartsWith("toy.yaml:10: partitions[1].intra_node.bandwidth.origin: is empty"));
}

TEST_CASE("a value of the wrong type says what belongs there", "[hardware]") {
  CHECK_THAT(complaint("gpus_per_node: 8", "gpus_per_node: eight"),
             StartsWith("toy.yaml:7: partitions[1].gpus_per_node: 'eight' is not an integer"));
  CHECK_THAT(complaint("gpus_per_node: 8", "gpus_per_node: 7.5"),
             ContainsSubstring("'7.5' is not an integer"));
  CHECK_THAT(complaint("nodes: 4", "nodes: [4]"), ContainsSubstring("a list where text belongs"));
  CHECK_THAT(complaint("nodes: 4", "nodes:"), ContainsSubstring("nothing where text belongs"));
  CHECK_THAT(complaint("gpu: toy", "gpu: {a: b}"), ContainsSubstring("a map where text belongs"));
  CHECK_THAT(complaint("options: [--exclusive, \"--mem=0\"]", "options: --exclusive"),
             StartsWith("toy.yaml:30: partitions[1].slurm.options: a single value where a list"));
  CHECK_THAT(text(toy::cluster("name: toy\nlaunch: local\npartitions: {a: 1}\n").error()),
             StartsWith("toy.yaml:3: partitions: a map where a list belongs"));
}

TEST_CASE("a unit that does not fit is answered with those that do", "[hardware]") {
  for (const auto* bad : {"300 GBs", "300 GB", "300", "fast", "nan GB/s", "inf GB/s", ".nan"})
    CHECK_THAT(complaint("value: 300 GB/s", "value: " + std::string(bad)),
               StartsWith("toy.yaml:10: partitions[1].intra_node.bandwidth.value: '" +
                          std::string(bad) + "' is not a bandwidth") &&
                   ContainsSubstring("units: MB/s, GB/s, TB/s, Gbit/s"));
  CHECK_THAT(complaint("value: 512 GiB", "value: 512 GBs"),
             StartsWith("toy.yaml:22: partitions[1].host.memory.value: '512 GBs' is not an amount "
                        "of memory"));
}

TEST_CASE("negative, zero and absurd numbers are out of range", "[hardware]") {
  for (const auto* bad : {"-1 GB/s", "0 GB/s", "1e9 TB/s"})
    CHECK(complaint("value: 300 GB/s", "value: " + std::string(bad)) ==
          "toy.yaml:10: partitions[1].intra_node.bandwidth.value: " + std::string(bad) +
              " is out of range\n  give a value from 1 MB/s to 100 TB/s");
  for (const auto* bad : {"-0.5", "0", "1.01", "75"})
    CHECK_THAT(complaint("value: 0.75", "value: " + std::string(bad)),
               ContainsSubstring("give a value from 0.0001 to 1"));
  for (const auto* bad : {"0", "-8", "1025", "99999999999999999999"})
    CHECK(complaint("gpus_per_node: 8", "gpus_per_node: " + std::string(bad)) ==
          "toy.yaml:7: partitions[1].gpus_per_node: " + std::string(bad) +
              " is out of range\n  give an integer from 1 to 1024");
}

TEST_CASE("two partitions of one name, and a key given twice, are refused", "[hardware]") {
  auto twice = kCluster + kCluster.substr(kCluster.find("  - name: small"));
  const auto read = toy::cluster(twice);
  REQUIRE_FALSE(read);
  CHECK(text(read.error()) ==
        "toy.yaml:34: partitions[2]: a second partition is called 'small'\n"
        "  give each partition a name of its own");
  CHECK(complaint("nodes: 4", "nodes: 4\n    nodes: 5") ==
        "toy.yaml:9: partitions[1].nodes: given twice, first on line 8\n  keep one");
}

TEST_CASE("an unknown GPU and an unknown launch get a guess", "[hardware]") {
  CHECK(complaint("gpu: toy", "gpu: toi") ==
        "toy.yaml:6: partitions[1].gpu: no GPU is called 'toi'\n"
        "  did you mean 'toy'? (GPUs are described in gpus.yaml)");
  CHECK(complaint("launch: slurm", "launch: slum") ==
        "toy.yaml:3: launch: 'slum' is not a way to launch\n  did you mean 'slurm'?");
}

TEST_CASE("a name must be plain and that of the file", "[hardware]") {
  CHECK_THAT(complaint("name: toy", "name: ../toy"), ContainsSubstring("cannot be a name"));
  CHECK_THAT(complaint("name: small", "name: \"a b\""),
             StartsWith("toy.yaml:5: partitions[1].name: 'a b' cannot be a name"));
  CHECK(complaint("name: toy", "name: toi") ==
        "toy.yaml:1: name: 'toi' in a file called toy.yaml\n"
        "  make the name and the file's name the same");
}

TEST_CASE("memory that contradicts itself is refused", "[hardware]") {
  const auto more = parse_gpus(replaced(kGpus, "79 GiB", "81 GiB"), "gpus.yaml");
  REQUIRE_FALSE(more);
  CHECK_THAT(text(more.error()), StartsWith("gpus.yaml:1: toy: usable_memory 87.0 GB is more than "
                                            "memory 85.9 GB"));
  const auto none = parse_gpus(replaced(kGpus, "1 GiB", "79 GiB"), "gpus.yaml");
  REQUIRE_FALSE(none);
  CHECK_THAT(text(none.error()), ContainsSubstring("leaves nothing of usable_memory"));
}

TEST_CASE("a GPU lacks no constant but the formats it does not have", "[hardware]") {
  const auto read = parse_gpus("toy:\n  memory: { value: 80 GiB, origin: o }\n", "gpus.yaml");
  REQUIRE_FALSE(read);
  const auto said = text(read.error());
  for (const auto* key :
       {"usable_memory", "context_memory", "memory_bandwidth", "peak", "efficiency"})
    CHECK_THAT(said, ContainsSubstring("gpus.yaml:1: toy: '" + std::string(key) + "' is missing"));
  CHECK_THAT(said, !ContainsSubstring("'bf16' is missing"));
}

TEST_CASE("the signal must come before the time is up", "[hardware]") {
  CHECK_THAT(complaint("signal_seconds: 600", "spare_nodes: -1"),
             StartsWith("toy.yaml:29: partitions[1].slurm.spare_nodes: -1 is out of range"));
  CHECK_THAT(complaint("signal_seconds: 600", "signal_seconds: 0"),
             StartsWith("toy.yaml:29: partitions[1].slurm.signal_seconds: 0 is out of range"));
  CHECK(complaint("time: \"20:00:00\"", "time: \"10:00\"") ==
        "toy.yaml:29: partitions[1].slurm.signal_seconds: 600 s before the end is not within a "
        "time of 10:00\n  make it shorter than time");
}

TEST_CASE("environment names are names and values are free text", "[hardware]") {
  CHECK_THAT(complaint("NCCL_DEBUG: WARN", "\"A B\": x"),
             StartsWith("toy.yaml:31: partitions[1].slurm.environment.A B: not a name"));
  CHECK_THAT(complaint("NCCL_DEBUG: WARN", "1A: x"), ContainsSubstring("not a name"));
  const auto cluster =
      toy::cluster(replaced(kCluster, "NCCL_DEBUG: WARN", "X: \"$(rm -rf /) 'é' \\n\""));
  REQUIRE(cluster);
  CHECK(cluster->partitions[0].slurm.environment.at("X") == "$(rm -rf /) 'é' \n");
}

TEST_CASE("text that people will see holds no control characters", "[hardware]") {
  CHECK(complaint("doc: a toy", "doc: \"a\\e[31mtoy\"") ==
        "toy.yaml:2: doc: 'a\\x1b[31mtoy' holds control characters\n  remove them");
  CHECK_THAT(complaint("origin: sheet", "origin: \"\\a\""), ContainsSubstring("\\x07"));
  CHECK_THAT(complaint("        module purge", "        module \x01"),
             ContainsSubstring("toy.yaml:"));
}

TEST_CASE("fast links join whole nodes", "[hardware]") {
  const auto with = [](const char* domain) {
    return complaint("gpus_per_node: 8",
                     "gpus_per_node: 8\n    gpus_per_domain: " + std::string(domain));
  };
  CHECK_THAT(with("12"),
             ContainsSubstring("gpus_per_domain: 12 is not a multiple of gpus_per_node = 8") &&
                 ContainsSubstring("such as 16"));
  CHECK_THAT(with("-8"), ContainsSubstring("out of range"));
  for (const auto& [domain, gpus] : {std::pair{"0", 8}, {"8", 8}, {"72", 72}}) {
    const auto cluster =
        toy::cluster(replaced(kCluster, "gpus_per_node: 8",
                              "gpus_per_node: 8\n    gpus_per_domain: " + std::string(domain)));
    REQUIRE(cluster);
    CHECK(cluster->partitions[0].domain() == gpus);
  }
}

TEST_CASE("all problems of a file come at once, in its order", "[hardware]") {
  auto bad = replaced(kCluster, "launch: slurm", "launch: slrum");
  bad = replaced(bad, "gpu: toy", "gpu: tyo");
  bad = replaced(bad, "nodes: 4", "nodes: -4");
  bad = replaced(bad, "value: 512 GiB", "value: 512 GBs");
  bad = replaced(bad, "account: six@a100", "account: six;a100");
  const auto read = toy::cluster(bad);
  REQUIRE_FALSE(read);
  REQUIRE(read.error().size() == 5);
  const char* places[] = {
      "toy.yaml:3: launch", "toy.yaml:6: partitions[1].gpu", "toy.yaml:8: partitions[1].nodes",
      "toy.yaml:22: partitions[1].host.memory.value", "toy.yaml:26: partitions[1].slurm.account"};
  for (std::size_t i = 0; i < 5; ++i) CHECK(read.error()[i].place == places[i]);
}

}  // namespace
}  // namespace orch::hardware
