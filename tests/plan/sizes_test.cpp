#include "core/plan/tie.h"

#include <catch2/catch_test_macros.hpp>

using orch::plan::size_classes;
using Classes = std::vector<std::size_t>;

TEST_CASE("models within a tenth of the smallest are of one size", "[plan]") {
  CHECK(size_classes({}).empty());
  CHECK(size_classes({1e9, 1e9}) == Classes{0, 0});
  CHECK(size_classes({13e9, 1.3e9, 1.4e9, 176e9}) == Classes{1, 0, 0, 2});
  // A chain does not make one size of all: each is held against the smallest.
  CHECK(size_classes({100, 109, 118, 127}) == Classes{0, 0, 1, 1});
}
