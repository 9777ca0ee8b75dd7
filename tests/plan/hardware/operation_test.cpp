#include "core/plan/hardware/hardware.h"
#include "core/plan/hardware/write.h"
#include "tests/plan/hardware/toy.h"
#include "tests/test.h"

// What it takes to run jobs on a cluster: failures, waits, price and power.
namespace orch::hardware {
namespace {

// A cluster of two partitions with these lines, for both and for the first one.
std::string with_operation(const std::string& of_all, const std::string& of_first) {
  auto text = toy::kCluster;
  text.insert(text.find("partitions:"), of_all);
  const auto second = text.substr(text.find("  - name: small"));
  text.insert(text.find("    gpu: toy"), of_first);
  return text + "  - name: large" + second.substr(second.find('\n'));
}

Result<plan::Cluster> read(const std::string& of_all, const std::string& of_first = "") {
  return parse_cluster(with_operation(of_all, of_first), "toy.yaml",
                       *parse_gpus(toy::kGpus, "gpus.yaml"));
}

std::string complaint(const std::string& of_all) {
  const auto found = read(of_all);
  return found ? "" : text(found.error());
}

TEST_CASE("a partition's operation goes before its cluster's", "[hardware][operation]") {
  const auto found = read(
      "operation:\n  pue: { value: 1.2, origin: site }\n  watts: { value: 500 W, origin: site }\n"
      "  price: { value: 2.5 EUR, origin: site }\n  queue_wait: { value: 6 h, origin: site }\n",
      "    operation:\n      watts: { value: 0.4 kW, origin: mine }\n"
      "      node_price: { value: 24 EUR, origin: mine }\n");
  REQUIRE(found);
  const auto& small = found->partitions[0];
  const auto& large = found->partitions[1];
  CHECK(small.busy_watts() == 400);
  CHECK(large.busy_watts() == 500);
  CHECK(small.price_per_gpu_hour() == 3);  // of eight GPUs
  CHECK(large.price_per_gpu_hour() == 2.5);
  CHECK(small.operation.currency == "EUR");
  CHECK(small.operation.pue.value == 1.2);
  CHECK(small.operation.queue_wait.value == 6 * 3600);
  CHECK(small.idle_watts() == 80);
  CHECK(large.operation.failures.origin.starts_with("published: Llama 3"));
}

TEST_CASE("a node's mean time between failures replaces the rate", "[hardware][operation]") {
  const auto found =
      read("operation: { node_days_between_failures: { value: 125, origin: log } }\n");
  REQUIRE(found);
  CHECK(found->partitions[0].failures_per_gpu_hour() == 1.0 / (125 * 24 * 8));
  const auto own = read("operation: { node_days_between_failures: { value: 125, origin: log } }\n",
                        "    operation: { failures: { value: 1e-5, origin: log } }\n");
  REQUIRE(own);
  CHECK(own->partitions[0].failures_per_gpu_hour() == 1e-5);
}

TEST_CASE("without a price or watts nothing is known of them", "[hardware][operation]") {
  const auto found = read("");
  REQUIRE(found);
  CHECK(found->partitions[0].price_per_gpu_hour() == 0);
  CHECK(found->partitions[0].busy_watts() == 0);
}

TEST_CASE("a wrong operation is told with its line", "[hardware][operation]") {
  CHECK(complaint("operation: { price: { value: 2.5, origin: o } }\n") ==
        "toy.yaml:4: operation.price.value: '2.5' is not a price with its currency\n"
        "  write it like 2.50 EUR");
  CHECK_THAT(complaint("operation:\n  price: { value: 2 EUR, origin: o }\n"
                       "  node_price: { value: 16 EUR, origin: o }\n"),
             Catch::Matchers::ContainsSubstring("given beside price"));
  CHECK_THAT(complaint("operation: { queue_wait: { value: 6 days, origin: o } }\n"),
             Catch::Matchers::ContainsSubstring("(units: s, min, h)"));
  CHECK_THAT(complaint("operation: { wats: { value: 400 W, origin: o } }\n"),
             Catch::Matchers::ContainsSubstring("did you mean 'watts'?"));
}

TEST_CASE("what orch writes of an operation, it reads back", "[hardware][operation]") {
  const auto found = read(
      "operation:\n  price: { value: 2.5 EUR, origin: site }\n"
      "  queue_wait: { value: 6 h, origin: site }\n  watts: { value: 450 W, origin: site }\n");
  REQUIRE(found);
  const auto again =
      parse_cluster(cluster_text(*found, ""), "toy.yaml", *parse_gpus(toy::kGpus, "gpus.yaml"));
  REQUIRE(again);
  const auto& operation = again->partitions[1].operation;
  CHECK(operation.price.value == 2.5);
  CHECK(operation.currency == "EUR");
  CHECK(operation.queue_wait.value == 6 * 3600);
  CHECK(operation.watts.value == 450);
  CHECK(operation.failures.origin == found->partitions[1].operation.failures.origin);
}

}  // namespace
}  // namespace orch::hardware
