// Not a test: ./build/bench/bin/orch_reducer_bench prints how well the reduction of gradients
// overlaps backward on two ranks of this machine, and the cost of PowerSGD beside the bytes that it
// saves.

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <chrono>
#include <thread>

#include "backends/ddp/reducer.h"
#include "tests/runtime/ranks.h"

namespace {

using namespace orch;
using SteadyClock = std::chrono::steady_clock;

constexpr std::int64_t kHidden = 512, kLayers = 8;
constexpr int kSteps = 5;

// The matrices and vectors of a small transformer, 25M elements.
train::Parameters model() {
  std::vector<train::ParameterSpec> specs;
  for (std::int64_t layer = 0; layer < kLayers; ++layer)
    for (const auto& shape : std::vector<std::vector<std::int64_t>>{{kHidden, 4 * kHidden},
                                                                    {4 * kHidden, kHidden},
                                                                    {4 * kHidden},
                                                                    {kHidden, kHidden},
                                                                    {3 * kHidden, kHidden},
                                                                    {kHidden}})
      specs.push_back(
          {fmt::format("p{}", specs.size()), shape, -1, train::WeightInit::zeros, false});
  return train::Parameters(specs, {});
}

struct MeasuredReduction {
  double seconds = 0, bytes = 0;  // per step
};

// backward: seconds of a device, so that the host is free.
MeasuredReduction measure(train::World& world, ddp::CompressingOptions options, double backward) {
  auto parameters = model();
  options.powersgd.start = 0;
  ddp::CompressingReducer reducer(parameters, world.world(), options);
  const auto total = static_cast<double>(parameters.gradients().numel());
  const auto values = at::empty_like(parameters.gradients()).uniform_(-1, 1);
  double seconds = 0;
  std::uint64_t before = 0;
  for (int step = 0; step <= kSteps; ++step) {
    if (step == 1) seconds = 0, before = world.world().traffic().bytes;  // the first one warms up
    parameters.gradients().copy_(values);
    world.world().barrier();
    const auto begin = SteadyClock::now();
    reducer.begin(step + 1, true);
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      const auto share = static_cast<double>(parameters[i].count) / total;
      std::this_thread::sleep_for(std::chrono::duration<double>(backward * share));
      reducer.ready(i);
    }
    reducer.finish();
    seconds += std::chrono::duration<double>(SteadyClock::now() - begin).count();
  }
  const auto bytes = static_cast<double>(world.world().traffic().bytes - before);
  return {seconds / kSteps, bytes / kSteps};
}

ddp::CompressingOptions with(bool overlap, ddp::Compression compression, std::int64_t rank = 0) {
  ddp::CompressingOptions options;
  options.buckets.bytes = 8 * 1048576.0;
  options.overlap = overlap;
  options.compression = compression;
  options.powersgd.rank = rank;
  return options;
}

void compare(train::World& world) {
  const auto say = [&](const std::string& line) {
    if (world.rank() == 0) test::say(line);
  };
  const auto plain = measure(world, with(false, ddp::Compression::none), 0);
  const double backward = 2 * plain.seconds;
  for (const bool overlap : {false, true}) {
    const auto got = measure(world, with(overlap, ddp::Compression::none), backward);
    const double waited = got.seconds - backward;
    say(fmt::format(
        "overlap {:3}: step {:6.1f} ms (backward {:.1f}), waited {:6.1f} ms, hidden {:3.0f} %",
        overlap ? "on" : "off", got.seconds * 1e3, backward * 1e3, waited * 1e3,
        (1 - waited / plain.seconds) * 100));
  }
  say(fmt::format("plain          : {:6.1f} ms, {:6.2f} MB per step", plain.seconds * 1e3,
                  plain.bytes / 1e6));
  for (const std::int64_t rank : {1, 2, 4, 8}) {
    const auto got = measure(world, with(false, ddp::Compression::powersgd, rank), 0);
    const double saved = plain.bytes - got.bytes;
    const double cost = got.seconds - plain.seconds * got.bytes / plain.bytes;
    say(fmt::format(
        "PowerSGD rank {}: {:6.1f} ms, {:6.2f} MB per step; {:.2f} ns of computing per byte "
        "saved: worth it below {:.2f} GB/s",
        rank, got.seconds * 1e3, got.bytes / 1e6, cost * 1e9 / saved, saved / cost / 1e9));
  }
}

}  // namespace

int main() {
  const auto outcomes = orch::test::run_worlds(2, compare);
  fmt::print("{}{}", outcomes[0].said, orch::test::complaints({outcomes[1]}));
  return outcomes[0].ok() && outcomes[1].ok() ? 0 : 1;
}
