#include "backends/measure/collectives.h"

#include <ATen/ATen.h>

namespace orch::measure {

Json all_reduces(Bench& bench) {
  auto rows = Json::array();
  if (bench.ranks().size() == 1) return rows;
  for (std::int64_t bytes = 4 << 10; bytes <= 64 << 20; bytes *= 4) {
    const auto tensor =
        at::zeros({bytes / 4}, at::TensorOptions(at::kFloat).device(bench.device()));
    const double seconds = bench.seconds_together([&] { bench.ranks().all_reduce(tensor).wait(); });
    rows.push_back({{"bytes", bytes}, {"seconds", seconds}});
  }
  return rows;
}

}  // namespace orch::measure
