#include "core/plan/hardware/hardware.h"
#include "core/plan/hardware/write.h"
#include "tests/plan/hardware/toy.h"
#include "tests/test.h"

namespace orch::hardware {
namespace {

using toy::kCluster;
using toy::replaced;

plan::Calibration calibration(double gemm) {
  plan::Calibration made;
  made.constants["gemm"] = {gemm, "fitted: 3 rows of mine"};
  return made;
}

std::string rewritten(const std::string& text, const std::string& partition,
                      const plan::Calibration& calibration) {
  const auto made = with_calibration(text, partition, calibration, "toy.yaml");
  if (!made) FAIL(orch::text(made.error()));
  return *made;
}

plan::Cluster parsed(const std::string& text) {
  const auto read = toy::cluster(text);
  if (!read) FAIL(orch::text(read.error()) + "\n" + text);
  return *read;
}

// One partition of the toy under another name, from its "- name" line on.
std::string partition(const std::string& name) {
  const auto text = kCluster.substr(kCluster.find("  - name: small"));
  return replaced(text, "small", name);
}

const std::string kHead = "name: toy\n# who uses it\ndoc: a toy\nlaunch: slurm\npartitions:\n";
const std::string kOne = R"(    fitted:
      gemm: { value: 0.5, origin: "fitted: 3 rows of mine" }
)";

TEST_CASE("a block is added at the end of its partition and nothing else changes",
          "[hardware][rewrite]") {
  const auto small = partition("small"), large = partition("large"), other = partition("other");
  const std::string note = "\n  # The larger ones,\n  # since 2022.\n";
  const auto before = kHead + small + note + large + "\n" + other;
  const auto one = calibration(0.5);
  CHECK(rewritten(before, "small", one) == kHead + small + kOne + note + large + "\n" + other);
  CHECK(rewritten(before, "large", one) == kHead + small + note + large + kOne + "\n" + other);
  CHECK(rewritten(before, "other", one) == before + kOne);
}

TEST_CASE("an old one gives way to the new one", "[hardware][rewrite]") {
  const std::string old =
      "    fitted:  # by hand\n"
      "      - backends: [megatron, ddp]\n"
      "        memory: { value: 0.9, origin: old }\n"
      "\n"
      "        # a remark inside\n"
      "        eras:\n"
      "          - { until: \"2020-01-01\", time: { value: 2, origin: old } }\n";
  // Before other fields of the partition, with a comment that belongs to what follows.
  const auto before =
      kHead + replaced(partition("small"), "    slurm:\n", old + "    # the queue\n    slurm:\n") +
      partition("large");
  const auto expected =
      kHead + replaced(partition("small"), "    slurm:\n", kOne + "    # the queue\n    slurm:\n") +
      partition("large");
  const auto after = rewritten(before, "small", calibration(0.5));
  CHECK(after == expected);
  CHECK(rewritten(after, "small", calibration(0.5)) == after);
}

TEST_CASE("a partition's name may be quoted and commented", "[hardware][rewrite]") {
  for (const char* name : {"\"small\"", "'small'", "small  # the old ones", "\"small\" # x"}) {
    CAPTURE(name);
    const auto before = kHead + partition(name) + partition("smaller");
    CHECK(rewritten(before, "small", calibration(0.5)) ==
          kHead + partition(name) + kOne + partition("smaller"));
  }
}

TEST_CASE("a partition of which another's name is the beginning is told apart",
          "[hardware][rewrite]") {
  const auto before = kHead + partition("small-2") + partition("small");
  CHECK(rewritten(before, "small", calibration(0.5)) == before + kOne);
}

TEST_CASE("partitions may stand at the margin", "[hardware][rewrite]") {
  std::string text = kCluster;
  for (auto at = text.find("\n  "); at != std::string::npos; at = text.find("\n  ", at + 1))
    text.erase(at + 1, 2);
  const auto after = rewritten(text, "small", calibration(0.5));
  CHECK(after.substr(0, text.size()) == text);
  CHECK(parsed(after).partitions[0].as_measured().efficiency.gemm.value == 0.5);
}

TEST_CASE("a missing last newline is no obstacle", "[hardware][rewrite]") {
  const auto text = kCluster.substr(0, kCluster.size() - 1);
  CHECK(rewritten(text, "small", calibration(0.5)) == kCluster + kOne);
}

// Only YAML's comments are comments: a shell's are part of the text.
TEST_CASE("a comment at the end of a setup stays in it", "[hardware][rewrite]") {
  const auto text = kCluster + "        # that is all\n";
  REQUIRE(parsed(text).partitions[0].slurm.setup == "module purge\n# that is all\n");
  const auto after = rewritten(text, "small", calibration(0.5));
  CHECK(parsed(after).partitions[0].slurm.setup == "module purge\n# that is all\n");
  CHECK(after == text + kOne);
}

TEST_CASE("what is written reads back as it was, to five digits", "[hardware][rewrite]") {
  plan::Calibration first;
  const auto put = [&](const char* name, double value) {
    first.constants[name] = {value, std::string("fitted: ") + name};
  };
  put("gemm", 0.123456789);
  put("attention", 1);
  put("attention_unaligned", 0.00234567);
  put("memory", 2 / 3.0);
  put("layer_overhead", 123.456789e-6);
  put("stage_overhead", 13.9181818e-3);
  put("step_overhead", 5.67891234);
  put("host", 0.0712345678);
  put("intra_node.efficiency", 0.38716789);
  put("network.efficiency", 0.010819123);
  put("pcie.efficiency", 0.98765432);
  put("host_floor", 98.7654321e-6);
  put("intra_node.latency", 5.4321e-6);
  put("context_memory", 1556.23456 * 1048576);
  put("allocator_slack", 0.16740123);
  put("time_spread", 0.0456170123);
  put("memory_spread", 0.0438501234);
  first.eras = {{"2022-02-18", {1.05061234, "fitted: a"}}, {"2022-02-25", {0.95, "fitted: b"}}};
  first.seen.rows = 12;
  first.seen.gpus = {8, 384};
  first.seen.tokens = {512, 16384};
  first.seen.settings = {{"dtype", {"bf16", "fp16"}}, {"offload", {"none"}}};
  first.seen.of_stack = {{"some-2022", {{"dtype", {"bf16"}}}},
                         {"other-2023", {{"dtype", {"fp16"}}}}};
  const auto text = rewritten(kHead + partition("small") + partition("large"), "small", first);
  const auto cluster = parsed(text);
  CHECK_FALSE(cluster.partitions[1].calibration);
  REQUIRE(cluster.partitions[0].calibration);
  const auto& read = *cluster.partitions[0].calibration;
  REQUIRE(read.constants.size() == first.constants.size());
  for (const auto& [name, constant] : first.constants) {
    CAPTURE(name);
    REQUIRE(read.constants.contains(name));
    CHECK(read.constants.at(name).value == Approx(constant.value).epsilon(1e-4 / 2));
    CHECK(read.constants.at(name).origin == constant.origin);
  }
  REQUIRE(read.eras.size() == 2);
  CHECK(read.eras[0].until == "2022-02-18");
  CHECK(read.eras[0].time.value == Approx(1.05061234).epsilon(1e-4 / 2));
  CHECK(read.eras[1].time.origin == "fitted: b");
  CHECK(read.seen.rows == 12);
  CHECK(read.seen.gpus.high == 384);
  CHECK(read.seen.params.high == 0);
  CHECK(read.seen.tokens.low == 512);
  CHECK(read.seen.settings == first.seen.settings);
  CHECK(read.seen.of_stack == first.seen.of_stack);
  // A file that was read is written unchanged, to the byte.
  CHECK(rewritten(text, "small", read) == text);
}

TEST_CASE("an origin may hold quotes and colons", "[hardware][rewrite]") {
  auto made = calibration(0.5);
  made.constants["gemm"].origin = "fitted: 2 rows of \"mine\" # C:\\rows";
  const auto cluster = parsed(rewritten(kCluster, "small", made));
  CHECK(cluster.partitions[0].calibration->constants.at("gemm").origin ==
        made.constants["gemm"].origin);
}

TEST_CASE("a partition that is not there is an error", "[hardware][rewrite]") {
  for (const auto& text : {kCluster, std::string("name: toy\npartitions: [{ name: large }]\n"),
                           std::string(), std::string("# - name: large\n")}) {
    const auto made = with_calibration(text, "large", {}, "toy.yaml");
    REQUIRE_FALSE(made);
    CHECK_THAT(orch::text(made.error()), ContainsSubstring("toy.yaml: no line '- name: large'"));
  }
}

const std::vector<NamedConstant> kLearned{{"failures", "2.5e-05", {2.5e-5, "measured: 7 failures"}},
                                          {"queue_wait", "7200 s", {7200, "measured: 9 \"jobs\""}}};

std::string with_learned(const std::string& text, const std::string& partition) {
  const auto made =
      with_operation(text, partition, kLearned, {"node_days_between_failures"}, "toy.yaml");
  if (!made) FAIL(orch::text(made.error()));
  return *made;
}

TEST_CASE("what a site's operation says is replaced, and nothing else", "[hardware][rewrite]") {
  const auto head = [](const std::string& operation) {
    return "name: toy\nlaunch: slurm\n" + operation + "\n# All of them:\npartitions:\n";
  };
  const auto rest = partition("small") + partition("large");
  const std::string learned =
      "  failures: { value: 2.5e-05, origin: \"measured: 7 failures\" }\n"
      "  queue_wait: { value: 7200 s, origin: \"measured: 9 \\\"jobs\\\"\" }\n";
  // None before: a new block goes before the partitions and their comment.
  CHECK(with_learned(head("") + rest, "") == head("operation:\n" + learned) + rest);
  // Other constants, their order and comments stay; a second time changes nothing.
  const auto block = [](const std::string& failures, const std::string& wait) {
    return "operation:  # of the site\n  # from its page\n  pue: { value: 1.2, origin: page }\n" +
           failures + "  price: { value: 2 EUR,\n    origin: page }\n" + wait;
  };
  const auto end = learned.find("  queue_wait");
  const auto before = head(block("  failures: { value: 1e-5,\n    origin: old }\n", "")) + rest;
  const auto after = head(block(learned.substr(0, end), learned.substr(end))) + rest;
  CHECK(with_learned(before, "") == after);
  CHECK(with_learned(after, "") == after);
  CHECK(parsed(after).partitions[1].operation.failures.value == 2.5e-5);
  CHECK(parsed(after).partitions[1].operation.queue_wait.value == 7200);
  // The other form of the rate would contradict it.
  const auto days =
      head("operation:\n  node_days_between_failures: { value: 100, origin: old }\n") + rest;
  CHECK(with_learned(days, "") == head("operation:\n" + learned) + rest);
}

TEST_CASE("the operation of one partition is its own", "[hardware][rewrite]") {
  const auto text = kHead + partition("small") + partition("large");
  const auto small = parsed(with_learned(text, "small"));
  CHECK(small.partitions[0].operation.failures.value == 2.5e-5);
  CHECK(small.partitions[1].operation.failures.origin.starts_with("published"));
  const auto both = parsed(with_learned(with_learned(text, "small"), "large"));
  CHECK(both.partitions[1].operation.queue_wait.value == 7200);
  CHECK_FALSE(with_operation(text, "huge", kLearned, {}, "toy.yaml"));
  const auto line = "name: toy\noperation: { pue: { value: 1.2, origin: page } }\npartitions:\n";
  const auto refused = with_operation(line + partition("small"), "", kLearned, {}, "toy.yaml");
  REQUIRE_FALSE(refused);
  CHECK(refused.error().front().place == "toy.yaml:2");
}

// A file of stacks: factors and their origin change, the rest stays.
TEST_CASE("a stack's factors are replaced in its file", "[hardware][rewrite][stack]") {
  const std::string head = "# the software\nsome-2022:\n  doc: some\n  date: \"2022-01\"\n";
  const std::string tail = "\nother-2023:\n  # another one\n  date: \"2023\"\n";
  plan::Stack stack;
  stack.name = "some-2022";
  stack.constants["gemm"] = {0.9, "fitted: 3 rows of mine"};
  stack.constants["step_overhead"] = {2.5, "fitted: 3 rows of mine"};
  stack.seen.rows = 3;
  stack.seen.gpus = {8, 16};
  const auto made = with_factors(head + tail, stack, "stacks.yaml");
  REQUIRE(made);
  CHECK(*made == head +
                     "  factors:\n"
                     "    gemm: { value: 0.9, origin: \"fitted: 3 rows of mine\" }\n"
                     "    step_overhead: { value: 2.5, origin: \"fitted: 3 rows of mine\" }\n"
                     "  seen: { rows: 3, gpus: [8, 16] }\n" +
                     tail);
  CHECK(*with_factors(*made, stack, "stacks.yaml") == *made);
  const auto read = parse_stacks(*made, "stacks.yaml");
  REQUIRE(read);
  CHECK(read->at("some-2022")->constants.at("step_overhead").value == 2.5);
  CHECK(read->at("some-2022")->seen.gpus.high == 16);
  stack.name = "unknown";
  CHECK_FALSE(with_factors(head, stack, "stacks.yaml"));
}

TEST_CASE("links are replaced as measured, and nothing else changes", "[hardware][rewrite]") {
  auto cluster = parsed(kHead + partition("small") + "\n" + partition("other"));
  auto measured = cluster.partitions[0];
  measured.network.latency = {12.5e-6, "measured: all-reduces"};
  measured.network.efficiency = {0.75, "measured: all-reduces"};
  measured.intra_node.bandwidth = {450e9, "measured: all-reduces"};
  const auto text =
      with_links(kHead + partition("small") + "\n" + partition("other"), measured, "");
  REQUIRE(text);
  const auto again = parsed(*text);
  const auto& network = again.partitions[0].network;
  CHECK_THAT(network.latency.value, WithinRel(12.5e-6, 1e-6));
  CHECK(network.latency.origin == "measured: all-reduces");
  CHECK(network.efficiency.value == 0.75);
  CHECK(network.bandwidth.value == cluster.partitions[0].network.bandwidth.value);
  CHECK(again.partitions[0].intra_node.bandwidth.value == 450e9);
  CHECK(text->ends_with("\n" + partition("other")));
  CHECK(*with_links(*text, again.partitions[0], "") == *text);
  CHECK_FALSE(with_links("name: toy\nlike: other\n", measured, "toy.yaml"));
}

}  // namespace
}  // namespace orch::hardware
