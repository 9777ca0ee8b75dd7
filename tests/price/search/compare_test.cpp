#include "core/price/search/compare.h"

#include "tests/test.h"

using namespace orch;
using namespace orch::search;

namespace {

plan::Planned planned(std::vector<plan::EstimateItem> items, std::int64_t global_batch = 8) {
  plan::Planned made;
  made.run.model.seq = 100;
  made.run.batch.global_batch = global_batch;
  for (const auto& item : items) made.estimate.step_seconds += item.amount;
  made.estimate.time = std::move(items);
  return made;
}

}  // namespace

TEST_CASE("a slower run is explained by what takes longer", "[search]") {
  const auto best = planned({{"layer: QKV", "gemm", 10, ""},
                             {"LM head: logits", "gemm", 2, ""},
                             {"layer: softmax", "memory", 3, ""},
                             {"layer: tensor all-reduce", "collective", 4, ""},
                             {"pipeline bubble", "bubble", 1, ""},
                             {"end of step: layer: optimizer", "memory", 0.5, ""}});
  const auto second = planned({{"layer: QKV", "gemm", 11, ""},
                               {"LM head: logits", "gemm", 2, ""},
                               {"layer: softmax", "memory", 3, ""},
                               {"layer: tensor all-reduce", "collective", 2.5, ""},
                               {"pipeline bubble", "bubble", 4, ""},
                               {"layer: send activations", "collective", 0.25, ""},
                               {"end of step: layer: optimizer", "memory", 0.5, ""}});
  const auto found = differences(best, second);
  REQUIRE(found.size() == 4);
  CHECK(found[0].part == "pipeline bubble");
  CHECK(found[0].seconds == Approx(3));
  CHECK(found[1].part == "tensor all-reduce");
  CHECK(found[1].seconds == Approx(-1.5));
  CHECK(found[2].part == "compute");
  CHECK(found[2].seconds == Approx(1));
  CHECK(found[3].part == "send activations");
  double sum = 0;
  for (const auto& difference : found) sum += difference.seconds;
  CHECK(sum == Approx(second.estimate.step_seconds - best.estimate.step_seconds));
  CHECK(text(found) ==
        "pipeline bubble +3.00 s, tensor all-reduce -1.50 s, compute +1.00 s, send activations "
        "+250.00 ms");
  CHECK(text(differences(best, best)).empty());
}

TEST_CASE("steps of different batches are compared by the sample", "[search]") {
  const auto small = planned({{"layer: QKV", "gemm", 10, ""}}, 8);
  const auto large = planned({{"layer: QKV", "gemm", 24, ""}}, 16);
  REQUIRE(differences(small, large).size() == 1);
  CHECK(differences(small, large).front().seconds == Approx(2));
}
