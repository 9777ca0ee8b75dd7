#include "backends/runtime/step/state.h"

#include <ATen/ATen.h>

#include <catch2/catch_test_macros.hpp>

#include "tests/place.h"
#include "tests/train/checkpoint/made.h"

using namespace made;

TEST_CASE("ranks share all tensors in a row: few pieces, equal parts", "[checkpoint]") {
  std::vector<train::StateTensor> state;
  for (const std::int64_t rows : {5, 1, 100, 3, 0, 40, 2})
    state.push_back(
        train::whole_state("weights/" + std::to_string(state.size()), at::randn({rows, 7})));
  for (const int ranks : {1, 4, 9}) {
    std::vector<SavedState> shares(static_cast<std::size_t>(ranks));
    std::size_t pieces = 0;
    for (int rank = 0; rank < ranks; ++rank) {
      auto& share = shares[static_cast<std::size_t>(rank)];
      train::save_share(state, rank, ranks, share);
      pieces += share.pieces.size();
      std::int64_t elements = 0;
      for (const auto& [piece, data, read] : share.pieces) elements += piece.end - piece.begin;
      CHECK(elements >= 151 * 7 / ranks);
      CHECK(elements <= 151 * 7 / ranks + 1);
    }
    CHECK(pieces < state.size() + shares.size());
    const ::TestFolder place;
    REQUIRE(write_all(place.root(), at_step(1), shares));
    const auto latest = checkpoint::open_latest(place.root());
    REQUIRE(latest.reader);
    for (const auto& each : state) {
      if (each.tensor.numel() == 0) continue;
      const auto back = read(*latest.reader, each.piece);
      CHECK(at::equal(at::tensor(back), each.tensor.view({-1})));
    }
  }
}
