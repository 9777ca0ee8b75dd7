#include "backends/runtime/step/weight_gather.h"

#include <ATen/ATen.h>

#include <catch2/catch_test_macros.hpp>
#include <chrono>
#include <thread>

#include "backends/runtime/model/stage.h"
#include "tests/runtime/ranks.h"
#include "tests/runtime/reference.h"

using namespace orch;
using namespace orch::test;
using namespace orch::train;

// The last stage of a pipeline has no embedding: only the head waits for the embedding's weights
// there.
TEST_CASE("who uses tied words waits until all replicas have sent theirs", "[runtime][parts]") {
  const auto outcomes = run_worlds(2, [](World& world) {
    auto llama = some_llama();
    llama.tied = true;
    for (const std::int64_t user : {llama.layers, std::int64_t{-1}}) {
      const auto specs = parameter_specs(llama, {llama.layers, llama.layers, false, true}, 128);
      const auto layout = lay_out({specs.back()});
      expect(specs.back().name == kWords, "the words are the last ones");
      const auto buckets = buckets_of(layout, 4, {});
      ParameterOptions options;
      options.owned = shard_of(buckets, world.rank(), 2);
      Parameters parameters(layout, options);
      const auto optimizer = make_optimizer("adamw", parameters, {});
      Profile profile(false);
      WeightGather gather(world.world(), parameters, *optimizer, buckets, llama.layers, profile);
      parameters.weights().fill_(-1);
      parameters.owned()[0].master.fill_(static_cast<double>(world.rank()));
      // The other rank has not reached it yet: without the wait the old weights would be used.
      if (world.rank() == 1) std::this_thread::sleep_for(std::chrono::milliseconds(100));
      gather.start();
      gather.wait_for(user);
      const auto words = parameters.weights().view({2, -1});
      expect(words[0].eq(0).all().item<bool>() && words[1].eq(1).all().item<bool>(),
             user < 0 ? "the embedding has old words" : "the head has old words");
      gather.wait();
    }
  });
  CHECK(complaints(outcomes) == "");
}
