#include "core/plan/family.h"
#include "core/plan/tie.h"
#include "tests/test.h"

using namespace orch::plan;
using Classes = std::vector<std::size_t>;

TEST_CASE("models within a tenth of the smallest are of one size", "[plan]") {
  CHECK(size_classes({}).empty());
  CHECK(size_classes({1e9, 1e9}) == Classes{0, 0});
  CHECK(size_classes({13e9, 1.3e9, 1.4e9, 176e9}) == Classes{1, 0, 0, 2});
  // A chain does not form one size: each model is compared with the smallest.
  CHECK(size_classes({100, 109, 118, 127}) == Classes{0, 0, 1, 1});
}

TEST_CASE("sizes, sequence lengths and machines are questions of their own", "[plan]") {
  auto toy = std::make_shared<Cluster>();
  toy->name = "toy";
  toy->partitions.resize(2);
  toy->partitions[0].name = "old", toy->partitions[1].name = "new";
  const auto run = [&](int layers, std::int64_t seq, std::size_t partition) {
    Run out;
    out.model = sized("gpt", "a", layers, 2048, 16, 50257, seq);
    out.cluster = toy;
    out.partition = &toy->partitions[partition];
    return out;
  };
  const Run runs[] = {run(96, 2048, 1), run(24, 2048, 1), run(24, 2048, 0), run(24, 8192, 1),
                      run(24, 2048, 1)};
  CHECK(questions_of({&runs[0], &runs[1], &runs[2], &runs[3], &runs[4]}) == Classes{3, 0, 1, 2, 0});
}

// Doubt about an unmeasured machine, or stack, affects both alike.
TEST_CASE("layouts in one stack are told apart on a machine that nobody measured", "[plan]") {
  const int machine = 0;
  const Timing fast{84, 0.8, &machine, 1}, slow{112, 0.8, &machine, 1},
      other{112, 0.8, &machine, 3};
  CHECK(!may_be_equal(fast, slow));
  CHECK(may_be_equal(fast, other));
  // 0.35 hypot(0.3, 0.3) = 0.1485
  CHECK(times_as_long(slow, fast).low ==
        Catch::Approx(112 / 84.0 * std::exp(-0.1485)).epsilon(1e-3));
}
