#include "core/show/compare/losses.h"

#include <ctime>

#include "core/show/compare/spikes.h"
#include "tests/show/compare/make.h"
#include "tests/test.h"

namespace orch::compare {
namespace {

using record::LossPoint;
using record::Record;

// A typical loss without noise; curve() adds noise with a deviation of 0.02.
double falling(double tokens) { return 2 + 4 * std::pow(1 + tokens / 1e8, -0.3); }

struct CurveShape {
  std::int64_t every = 10;
  std::int64_t steps = 20000;
  double tokens_per_step = 65536;
  double shift = 0;             // added to the loss
  std::int64_t shift_from = 0;  // from this step on
  unsigned seed = 1;
  bool with_tokens = true;
};

std::vector<LossPoint> curve(const CurveShape& shape) {
  std::mt19937 random(shape.seed);
  std::normal_distribution<double> noise(0, 0.02);
  std::vector<LossPoint> out;
  for (std::int64_t step = shape.every; step <= shape.steps; step += shape.every) {
    const double tokens = static_cast<double>(step) * shape.tokens_per_step;
    const double loss =
        falling(tokens) + noise(random) + (step >= shape.shift_from ? shape.shift : 0);
    out.push_back({step, shape.with_tokens ? tokens : 0, loss});
  }
  return out;
}

Record with(const std::string& id, std::vector<LossPoint> losses) {
  Record out;
  out.id = id;
  out.state = record::RunState::finished;
  out.measured.losses = std::move(losses);
  return out;
}

Losses compared(const Record& a, const Record& b, bool same_steps = false) {
  return compare_losses({&a}, {&b}, same_steps);
}

TEST_CASE("curves of one training and another seed are the same within noise", "[losses]") {
  int parted = 0;
  for (unsigned seed = 2; seed < 42; ++seed) {
    const auto losses = compared(with("a", curve({})), with("b", curve({.seed = seed})));
    REQUIRE(losses.places.size() == 5);
    REQUIRE(losses.noise_known);
    parted += losses.apart_from ? 1 : 0;
  }
  CHECK(parted <= 1);  // of 40 curves
}

TEST_CASE("a loss that is higher at the same tokens is found, and from where on", "[losses]") {
  // The loss is 0.03 higher from step 8000 on (8000 * 65536 = 524 million tokens). That is 1.5
  // deviations of a point, and a window has about 100 points.
  const auto losses = compared(with("a", curve({})),
                               with("b", curve({.shift = 0.03, .shift_from = 8000, .seed = 2})));
  REQUIRE(losses.why_not == Losses::AlignmentResult::aligned);
  CHECK(losses.axis == "tokens");
  CHECK(losses.apart_at_end);
  REQUIRE(losses.apart_from);
  CHECK(near(*losses.apart_from, 8000 * 65536.0, 0.1));
  CHECK(std::abs(losses.places[0].other - losses.places[0].base) < 0.02);  // at 10 %
  CHECK(std::abs(losses.places[4].other - losses.places[4].base - 0.03) < 0.015);
  CHECK(near(losses.places[2].base, falling(losses.places[2].at), 0.005));
}

TEST_CASE("curves align by tokens, whatever their steps are", "[losses]") {
  // A run with twice the batch has the same loss at the same tokens.
  const auto a = with("a", curve({}));
  const auto b =
      with("b", curve({.every = 20, .steps = 10000, .tokens_per_step = 131072, .seed = 3}));
  const auto losses = compared(a, b);
  CHECK(losses.axis == "tokens");
  CHECK(losses.to == 20000 * 65536.0);
  CHECK_FALSE(losses.apart_at_end);
}

TEST_CASE("tokens that a log does not print follow from batch and sequence", "[losses]") {
  auto a = run("a");
  a.measured.losses = curve({.with_tokens = false});
  const auto losses = compared(a, with("b", curve({.seed = 2})));
  CHECK(losses.axis == "tokens");
  CHECK(losses.places.size() == 5);
}

TEST_CASE("curves that cannot be aligned say why", "[losses]") {
  const auto a = with("a", curve({})), b = with("b", curve({.with_tokens = false}));
  CHECK(compared(a, b).why_not == Losses::AlignmentResult::tokens_of_one);
  CHECK(compared(b, b).why_not == Losses::AlignmentResult::no_tokens);
  CHECK(compared(b, b, true).axis == "steps");
  CHECK(compared(b, b, true).places.size() == 5);
  // The ranges of 1 to 100 and 1000 to 2000 tokens do not overlap.
  const auto early = with("early", {{1, 1, 5}, {100, 100, 4}});
  const auto late = with("late", {{1, 1000, 3}, {2, 2000, 2}});
  CHECK(has(findings::losses_text(compared(early, late)),
            "no tokens in common: 1 to 100 and 1,000 to 2,000"));
}

TEST_CASE("a few points interpolate, and their noise is not known", "[losses]") {
  const auto a = with("a", {{1, 100, 4}, {2, 200, 2}}), b = with("b", {{1, 100, 5}, {2, 300, 1}});
  const auto losses = compared(a, b);
  REQUIRE(losses.places.size() == 5);
  CHECK_FALSE(losses.noise_known);
  // At 150, half way from 100 to 200, a is 3, and b has done a quarter of its descent from 5 to 1.
  CHECK(losses.places[2].at == 150);
  CHECK(near(losses.places[2].base, 3));
  CHECK(near(losses.places[2].other, 4));
}

TEST_CASE("last losses compare at the same step only", "[losses]") {
  auto a = run("a"), b = run("b");
  a.measured.last_loss = 2.5;
  b.measured.last_loss = 2.4;
  a.measured.steps = b.measured.steps = 100;
  REQUIRE(compared(a, b, true).places.size() == 1);
  CHECK(compared(a, b, true).places[0].other == 2.4);
  b.measured.steps = 200;
  CHECK(compared(a, b, true).why_not == Losses::AlignmentResult::no_curve);
}

TEST_CASE("a spike at a resume is found, with its height and its end", "[losses]") {
  auto losses = curve({.every = 1, .steps = 2000});
  // Resumed at step 1001; the loss is 0.5 higher at 1002, and the excess decreases by 0.05 per
  // step.
  for (int i = 0; i < 10; ++i) losses[static_cast<std::size_t>(1001 + i)].loss += 0.5 - 0.05 * i;
  const auto spikes = find_spikes(losses, {1001});
  REQUIRE(spikes.size() == 1);
  CHECK(spikes[0].step == 1002);
  CHECK(spikes[0].at_resume);
  CHECK(std::abs(spikes[0].before - falling(1001 * 65536.0)) < 0.02);
  CHECK(std::abs(spikes[0].peak - spikes[0].before - 0.5) < 0.06);
  CHECK(spikes[0].recovered >= 1009);
  CHECK(spikes[0].recovered <= 1014);
}

TEST_CASE("a spike elsewhere is found, and one that never ends is not over", "[losses]") {
  auto losses = curve({.every = 1, .steps = 1000});
  losses[499].loss += 1;
  for (std::size_t i = 800; i < losses.size(); ++i) losses[i].loss += 2;
  const auto spikes = find_spikes(losses, {});
  REQUIRE(spikes.size() == 2);
  CHECK(spikes[0].step == 500);
  CHECK_FALSE(spikes[0].at_resume);
  CHECK(spikes[0].recovered == 501);
  CHECK(spikes[1].step == 801);
  CHECK(spikes[1].recovered == 0);
}

TEST_CASE("noise alone makes no spikes, and a calm resume none either", "[losses]") {
  std::size_t found = 0;
  for (unsigned seed = 0; seed < 20; ++seed)
    found += find_spikes(curve({.every = 1, .steps = 3000, .seed = seed}), {1000, 2000}).size();
  CHECK(found <= 6);  // in 60,000 points
}

TEST_CASE("no points, equal points and points that are no numbers are no spikes", "[losses]") {
  CHECK(find_spikes({}, {5}).empty());
  std::vector<LossPoint> flat;
  for (std::int64_t i = 1; i < 100; ++i) flat.push_back({i, 0, 2.0});
  CHECK(find_spikes(flat, {50}).empty());
  flat[50].loss = NAN;
  CHECK(find_spikes(flat, {50}).empty());
}

TEST_CASE("spikes and curves of many points take time in proportion", "[losses]") {
  const auto time = [](std::int64_t steps) {
    const auto start = std::clock();  // CPU time, as other programs may run
    const auto a = with("a", curve({.every = 1, .steps = steps}));
    const auto losses = compared(a, with("b", curve({.every = 1, .steps = steps, .seed = 2})));
    CHECK(losses.places.size() == 5);
    return static_cast<double>(std::clock() - start);
  };
  const double few = time(20'000);
  CHECK(time(200'000) < 50 * few);  // n^2 would take 100x as long
}

TEST_CASE("a comparison says what its curves come to", "[losses]") {
  auto a = run("a"), b = run("b");
  a.measured.losses = curve({});
  b.measured.losses = curve({.shift = -0.1, .seed = 2});
  for (std::size_t i = 1000; i < 1010; ++i) b.measured.losses[i].loss += 1;
  b.measured.resumes = {10005};
  const auto c = compare({group("A", a), group("B", b)});
  CHECK(c->against[0].loss_verdict == PairVerdict::better);
  const auto& losses = c->against[0].losses;
  CHECK(has(findings::losses_text(losses), "the loss ends lower by 0."));
  REQUIRE_FALSE(losses.other.spikes.empty());
  CHECK(has(findings::spike_text(losses.other.spikes.front()),
            "at step 10010, after a resume, the loss jumps from"));
}

TEST_CASE("a loss that became NaN is not the same, though its numbers are", "[losses][compare]") {
  auto a = run("a", 2), b = run("b", 2);
  a.measured.losses = curve({.every = 1, .steps = 1000});
  b.measured.losses = curve({.every = 1, .steps = 500, .seed = 2});
  a.measured.steps = b.measured.steps = 1000;
  b.measured.nan_steps = 500;
  const auto c = compare({group("a", a), group("b", b)});
  REQUIRE(c);
  CHECK(c->against[0].loss_verdict == PairVerdict::worse);
  CHECK(c->against[0].outcome.verdict == PairVerdict::worse);
  CHECK(findings::outcome_text(c->groups[1]) ==
        "lost its loss (NaN in 500 of 1000 steps, from step 501 on)");
  CHECK(has(findings::losses_text(c->against[0].losses),
            "the loss of b became NaN in 500 of 1000 steps, from step 501 on; of what both have as "
            "numbers: the losses are the same"));
  const auto back = compare({group("b", b), group("a", a)});
  CHECK(back->against[0].loss_verdict == PairVerdict::better);
  const auto twice = compare({group("b", b), group("b2", b)});
  CHECK(twice->against[0].loss_verdict == PairVerdict::not_comparable);
}

TEST_CASE("some steps with NaN forbid a verdict of equal losses", "[losses][compare]") {
  auto a = run("a", 2), b = run("b", 2);
  a.measured.losses = curve({.every = 1, .steps = 1000});
  b.measured.losses = curve({.every = 1, .steps = 1000, .seed = 2});
  a.measured.steps = b.measured.steps = 1000;
  CHECK(compare({group("a", a), group("b", b)})->against[0].loss_verdict ==
        PairVerdict::no_difference);
  b.measured.nan_steps = 3;
  const auto c = compare({group("a", a), group("b", b)});
  CHECK(c->against[0].loss_verdict == PairVerdict::unclear);
  CHECK(has(findings::losses_text(c->against[0].losses),
            "the loss of b was NaN in 3 of 1000 steps; "));
}

TEST_CASE("a run that lost its loss has no place in the ranking", "[losses][compare]") {
  auto a = run("a", 2), b = run("b", 2), lost = run("lost", 1);
  lost.measured.steps = lost.measured.nan_steps = 10;
  const auto c = compare({group("a", a), group("b", b), group("lost", lost)});
  REQUIRE(c->ranking.size() == 3);
  CHECK(c->ranking[2].group == 2);
  CHECK(c->ranking[2].place == 0);
}

}  // namespace
}  // namespace orch::compare
