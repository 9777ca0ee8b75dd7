#include <ATen/ATen.h>
#include <fmt/format.h>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <limits>

#include "backends/ddp/reducer.h"
#include "tests/runtime/gradients.h"
#include "tests/runtime/ranks.h"

using namespace orch;
using namespace orch::ddp;
using namespace orch::test;
using train::Parameters;
using train::World;

namespace {

// Two of the same shape, one that is not worth compressing at rank 2, a vector, one with three
// dims.
const std::vector<std::vector<std::int64_t>> kShapes = {
    {48, 32}, {48, 32}, {6, 5}, {70}, {20, 6, 8}};

CompressingOptions low_rank(std::int64_t rank) {
  CompressingOptions options;
  options.buckets.first_bytes = 8000;  // three buckets
  options.buckets.bytes = 6000;
  options.compression = Compression::powersgd;
  options.powersgd.rank = rank;
  options.powersgd.start = 0;
  return options;
}

void reduce(CompressingReducer& reducer, Parameters& parameters, std::int64_t step) {
  reducer.begin(step, true);
  for (std::size_t i = 0; i < parameters.size(); ++i) reducer.ready(i);
  reducer.finish();
}

void set_gradients(Parameters& parameters, int rank, std::int64_t step) {
  for (auto& parameter : parameters) parameter.gradient.copy_(gradient_of(parameter, rank, step));
}

double worst(Parameters& parameters, int ranks, std::int64_t step) {
  double most = 0;
  for (auto& parameter : parameters)
    most = std::max(most, difference(parameter.gradient, mean_of(parameter, ranks, step)));
  return most;
}

at::Tensor state(CompressingReducer& reducer, const std::string& kind, std::size_t parameter) {
  for (const auto& one : reducer.states())
    if (one.kind == kind && one.parameter == parameter) return one.tensor;
  throw std::runtime_error("expected: state " + kind);
}

// (rank+1) u v', with u and v of the same direction on every rank: the mean is of rank 1 too.
at::Tensor rank_one(std::int64_t rows, std::int64_t columns, int rank) {
  const auto u = (at::arange(rows, at::kDouble) * 0.3).sin(),
             v = (at::arange(columns, at::kDouble) * 0.9).cos();
  return at::outer(u, v) * (rank + 1);
}

}  // namespace

TEST_CASE("rows become orthonormal, also nearly dependent and tiny ones", "[ddp][powersgd]") {
  // In a forked rank: the test's own process must not compute.
  const auto outcomes = run_ranks(1, [](const train::WorldOptions&) {
    auto rows = at::randn({3, 4, 50}, at::kDouble).to(at::kFloat);
    rows[1][2].copy_(rows[1][0] + 1e-3 * rows[1][3]);
    rows[2].mul_(1e-7);
    orthogonalize(rows, 1e-8);
    const auto products = at::bmm(rows, rows.transpose(1, 2));
    expect((products - at::eye(4)).abs().max().item<double>() < 1e-5, "the identity");
    auto dependent = at::randn({1, 3, 50});
    dependent[0][1].copy_(dependent[0][0] * -3);
    orthogonalize(dependent, 1e-8);
    expect(dependent[0][1].eq(0).all().item<bool>(), "what depends on another is zero");
    expect(std::abs(at::dot(dependent[0][0], dependent[0][2]).item<double>()) < 1e-6,
           "the rest is not");
    auto zero = at::zeros({1, 2, 8});
    orthogonalize(zero, 1e-8);
    expect(zero.eq(0).all().item<bool>(), "zero stays zero, not NaN");
  });
  CHECK(complaints(outcomes) == "");
}

TEST_CASE("a gradient of rank 1 comes out as plain averaging gives it", "[ddp][powersgd]") {
  const int ranks = GENERATE(2, 3, 4), rank = GENERATE(1, 3);
  CAPTURE(ranks, rank);
  const auto outcomes = run_worlds(ranks, [=](World& world) {
    auto parameters = parameters_of({{48, 32}, {32, 48}, {70}});
    auto options = low_rank(rank);
    options.powersgd.min_rate = 1;
    for (const double scale : {1.0, 1e-5}) {
      CompressingReducer reducer(parameters, world.world(), options);
      for (auto& parameter : parameters)
        parameter.gradient.copy_(
            parameter.spec.shape.size() == 1
                ? gradient_of(parameter, world.rank(), 1)
                : rank_one(parameter.spec.shape[0], parameter.spec.shape[1], world.rank()) * scale);
      reduce(reducer, parameters, 1);
      const double mean = (world.size() + 1) / 2.0;  // of 1, 2, ... n
      for (const std::size_t i : {0, 1}) {
        const auto& shape = parameters[i].spec.shape;
        const auto error =
            difference(parameters[i].gradient, rank_one(shape[0], shape[1], 0) * mean * scale);
        expect(error < 2e-6, fmt::format("p{} at scale {} differs by {}", i, scale, error));
      }
      expect(difference(parameters[2].gradient, mean_of(parameters[2], world.size(), 1)) < 2e-7,
             "a vector is sent whole");
    }
  });
  CHECK(complaints(outcomes) == "");
}

TEST_CASE("with full rank nothing is lost", "[ddp][powersgd]") {
  const auto outcomes = run_worlds(2, [](World& world) {
    auto parameters = parameters_of(kShapes);
    auto options = low_rank(48);
    options.powersgd.min_rate = 0.01;  // compress although it saves nothing
    CompressingReducer reducer(parameters, world.world(), options);
    for (std::int64_t step = 1; step <= 4; ++step) {
      set_gradients(parameters, world.rank(), step);
      reduce(reducer, parameters, step);
      expect(worst(parameters, 2, step) < 5e-6,
             fmt::format("step {} differs by {}", step, worst(parameters, 2, step)));
    }
  });
  CHECK(complaints(outcomes) == "");
}

TEST_CASE("what is sent and what is still owed add up to the true gradients", "[ddp][powersgd]") {
  const int ranks = GENERATE(2, 4);
  const auto outcomes = run_worlds(ranks, [](World& world) {
    auto parameters = parameters_of(kShapes);
    CompressingReducer reducer(parameters, world.world(), low_rank(2));
    auto sent = at::zeros({48, 32}, at::kDouble), truth = at::zeros({48, 32}, at::kDouble);
    for (std::int64_t step = 1; step <= 12; ++step) {
      set_gradients(parameters, world.rank(), step);
      reduce(reducer, parameters, step);
      sent += parameters[1].gradient;
      truth += mean_of(parameters[1], world.size(), step);
    }
    auto owed = state(reducer, "error", 1).to(at::kDouble);
    world.world().all_reduce(owed).wait();
    owed /= world.size();
    expect(owed.abs().max().item<double>() > 0.01, "something is owed");
    const auto error = difference(sent + owed, truth);
    expect(error < 5e-6, fmt::format("the sums differ by {}", error));
  });
  CHECK(complaints(outcomes) == "");
}

TEST_CASE("with a warm start the approximation finds the best of its rank", "[ddp][powersgd]") {
  const auto outcomes = run_worlds(2, [](World& world) {
    auto parameters = parameters_of({{60, 40}});
    auto options = low_rank(2);
    options.powersgd.error_feedback = false;
    CompressingReducer reducer(parameters, world.world(), options);
    // Singular values 8, 4, 0.5, 0.25, ... : the best approximation of rank 2 misses the rest.
    const auto u =
        std::get<0>(at::linalg_qr((at::arange(60 * 40, at::kDouble) * 1.7).sin().view({60, 40})));
    const auto v =
        std::get<0>(at::linalg_qr((at::arange(40 * 40, at::kDouble) * 2.3).cos().view({40, 40})));
    auto values = at::full({40}, 0.25, at::kDouble);
    values[0] = 8, values[1] = 4, values[2] = 0.5;
    const auto matrix = at::mm(u * values, v.t());
    const auto best = (values.slice(0, 2) * values.slice(0, 2)).sum().sqrt().item<double>();
    double missed = 0, first = 0;
    for (std::int64_t step = 1; step <= 6; ++step) {
      parameters[0].gradient.copy_(matrix);
      reduce(reducer, parameters, step);
      missed = (matrix - parameters[0].gradient).norm().item<double>();
      if (step == 1) first = missed;
    }
    expect(first > 1.2 * best, fmt::format("a random start misses {} (best {})", first, best));
    expect(missed < 1.0001 * best, fmt::format("{} instead of {}", missed, best));
  });
  CHECK(complaints(outcomes) == "");
}

TEST_CASE("bytes are those of the factors", "[ddp][powersgd]") {
  const auto outcomes = run_worlds(2, [](World& world) {
    auto parameters = parameters_of(kShapes);
    auto options = low_rank(2);
    options.powersgd.start = 1;
    CompressingReducer reducer(parameters, world.world(), options);
    set_gradients(parameters, world.rank(), 1);
    reduce(reducer, parameters, 1);
    // Uncompressed before the start: 1536 + 1536 + 64 + 128 + 960 elements with padding.
    expect(world.world().traffic().bytes == 4 * 4224, "plain at first");
    expect(worst(parameters, 2, 1) < 2e-7, "and exact");
    set_gradients(parameters, world.rank(), 2);
    reduce(reducer, parameters, 2);
    // (48 + 32) * 2 twice and (20 + 48) * 2; 30 and 70 elements whole.
    expect(world.world().traffic().bytes - 4 * 4224 == 4 * (160 + 160 + 136 + 30 + 70),
           "factors then");
    expect(reducer.error_bytes() == 4 * (1536 + 1536 + 960), "errors of what is compressed");
  });
  CHECK(complaints(outcomes) == "");
}

TEST_CASE("a parameter that was not used for a while comes back", "[ddp][powersgd]") {
  const auto outcomes = run_worlds(2, [](World& world) {
    auto parameters = parameters_of({{48, 32}});
    CompressingReducer reducer(parameters, world.world(), low_rank(1));
    for (std::int64_t step = 1; step <= 3; ++step) {
      parameters.gradients().zero_();
      reducer.begin(step, true);
      reducer.finish();
    }
    expect(parameters[0].gradient.eq(0).all().item<bool>(), "zero meanwhile");
    parameters[0].gradient.copy_(rank_one(48, 32, world.rank()));
    reduce(reducer, parameters, 4);
    expect(difference(parameters[0].gradient, rank_one(48, 32, 0) * 1.5) < 2e-6, "the mean again");
  });
  CHECK(complaints(outcomes) == "");
}

TEST_CASE("a gradient that is not finite shows, and leaves no trace", "[ddp][powersgd]") {
  const auto outcomes = run_worlds(2, [](World& world) {
    auto parameters = parameters_of({{48, 32}});
    CompressingReducer reducer(parameters, world.world(), low_rank(1));
    set_gradients(parameters, world.rank(), 1);
    reduce(reducer, parameters, 1);
    const auto owed = state(reducer, "error", 0).clone();
    set_gradients(parameters, world.rank(), 2);
    if (world.rank() == 1)
      parameters[0].gradient[3][4].fill_(std::numeric_limits<float>::infinity());
    reduce(reducer, parameters, 2);
    expect(!parameters[0].gradient.isfinite().any().item<bool>(), "no finite element on any rank");
    expect(at::equal(owed, state(reducer, "error", 0)), "the error is that of before");
    set_gradients(parameters, world.rank(), 3);
    reduce(reducer, parameters, 3);
    expect(parameters[0].gradient.isfinite().all().item<bool>(), "all finite again");
  });
  CHECK(complaints(outcomes) == "");
}

TEST_CASE("training resumed from its state gives the same bits", "[ddp][powersgd]") {
  const auto outcomes = run_worlds(2, [](World& world) {
    const auto options = low_rank(2);
    const auto run = [&](CompressingReducer& reducer, Parameters& parameters, std::int64_t from,
                         std::int64_t to) {
      for (auto step = from; step <= to; ++step) {
        set_gradients(parameters, world.rank(), step);
        reduce(reducer, parameters, step);
      }
    };
    auto one = parameters_of(kShapes), two = parameters_of(kShapes);
    CompressingReducer whole(one, world.world(), options);
    run(whole, one, 1, 4);
    std::vector<at::Tensor> saved;
    for (const auto& part : whole.states()) saved.push_back(part.tensor.clone());
    expect(saved.size() == 6, "an error and a Q for each of three");
    run(whole, one, 5, 7);

    CompressingReducer resumed(two, world.world(), options);
    auto states = resumed.states();
    for (std::size_t i = 0; i < states.size(); ++i) states[i].tensor.copy_(saved[i]);
    run(resumed, two, 5, 7);
    expect(at::equal(one.gradients(), two.gradients()), "the same gradients");
    for (std::size_t i = 0; i < states.size(); ++i)
      expect(at::equal(whole.states()[i].tensor, states[i].tensor), "the same state");
  });
  CHECK(complaints(outcomes) == "");
}

TEST_CASE("ranks that get ready in any order, with delays, agree to the bit", "[ddp][powersgd]") {
  const int ranks = GENERATE(2, 4);
  RankOptions slow;
  slow.jitter_ms = 3;
  const auto outcomes = run_worlds(
      ranks,
      [](World& world) {
        auto parameters = parameters_of(kShapes);
        CompressingReducer reducer(parameters, world.world(), low_rank(2));
        for (std::int64_t step = 1; step <= 10; ++step) {
          set_gradients(parameters, world.rank(), step);
          reducer.begin(step, true);
          for (std::size_t i = 0; i < parameters.size(); ++i)
            reducer.ready((i * 3 + static_cast<std::size_t>(world.rank() + step)) %
                          parameters.size());
          reducer.finish();
          auto other = parameters.gradients().clone();
          world.world().broadcast(other, 0).wait();
          expect(at::equal(other, parameters.gradients()), "rank 0's bits");
        }
      },
      slow);
  CHECK(complaints(outcomes) == "");
}

TEST_CASE("16-bit gradients are compressed too", "[ddp][powersgd]") {
  const auto outcomes = run_worlds(2, [](World& world) {
    auto parameters = parameters_of({{48, 32}}, {at::kBFloat16, false, at::kCPU});
    CompressingReducer reducer(parameters, world.world(), low_rank(1));
    parameters[0].gradient.copy_(rank_one(48, 32, world.rank()));
    reduce(reducer, parameters, 1);
    // bf16 rounds the gradients before and after, by at most 2^-9 of their size each.
    expect(difference(parameters[0].gradient, rank_one(48, 32, 0) * 1.5) < 0x1p-7, "the mean");
  });
  CHECK(complaints(outcomes) == "");
}
