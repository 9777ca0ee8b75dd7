#include "core/price/search/ranking.h"

#include "core/price/search/search.h"
#include "tests/test.h"

using namespace orch;
using namespace orch::search;

namespace {

// Few different values, so that equal ones are common.
std::vector<RunScore> random_scores(std::size_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<RunScore> scores(count);
  for (std::size_t i = 0; i < count; ++i) {
    scores[i].days = static_cast<double>(random() % 20);
    scores[i].memory = static_cast<double>(random() % 20);
    scores[i].gpu_hours = static_cast<double>(random() % 5);
    scores[i].place.block.ordinal = i;
  }
  std::shuffle(scores.begin(), scores.end(), random);
  return scores;
}

std::vector<std::uint64_t> ordinals(const std::vector<RunScore>& scores) {
  std::vector<std::uint64_t> out;
  for (const auto& score : scores) out.push_back(score.place.block.ordinal);
  return out;
}

}  // namespace

TEST_CASE("of two that are as fast and as cheap the smaller comes first", "[search]") {
  RunScore large, small;
  large.memory = 2, small.memory = 1;
  small.place.block.ordinal = 1;
  CHECK(faster(small, large));
  CHECK(cheaper(small, large));
}

TEST_CASE("a top list holds the first of a sorted list, however it was filled", "[search]") {
  for (unsigned seed = 0; seed < 20; ++seed) {
    auto scores = random_scores(300, seed);
    TopList whole(faster, 7), first(faster, 7), second(faster, 7);
    for (const auto& score : scores)
      for (auto* list : {&whole, score.place.block.ordinal % 3 == 0 ? &first : &second}) {
        list->offer(score);
        list->end_block();
      }
    first.merge(second);
    std::sort(scores.begin(), scores.end(), faster);
    scores.resize(7);
    CHECK(ordinals(whole.sorted()) == ordinals(scores));
    CHECK(ordinals(first.sorted()) == ordinals(scores));
  }
}

TEST_CASE("a front is exactly what no other beats", "[search]") {
  for (unsigned seed = 0; seed < 20; ++seed)
    for (const bool hours : {false, true}) {
      const auto scores = random_scores(300, seed);
      ParetoFront whole(hours), first(hours), second(hours);
      for (const auto& score : scores) {
        whole.add(score);
        (score.place.block.ordinal % 2 == 0 ? first : second).add(score);
      }
      first.merge(second);
      std::vector<RunScore> expected;
      for (const auto& a : scores) {
        const bool beaten = std::any_of(scores.begin(), scores.end(), [&](const RunScore& b) {
          const bool no_worse =
              b.days <= a.days && b.memory <= a.memory && (!hours || b.gpu_hours <= a.gpu_hours);
          const bool same =
              b.days == a.days && b.memory == a.memory && (!hours || b.gpu_hours == a.gpu_hours);
          return no_worse && (!same || b.place.block.ordinal < a.place.block.ordinal);
        });
        if (!beaten) expected.push_back(a);
      }
      std::sort(expected.begin(), expected.end(), faster);
      CHECK(ordinals(whole.sorted()) == ordinals(expected));
      CHECK(ordinals(first.sorted()) == ordinals(expected));
    }
}

TEST_CASE("a ranking holds one entry per layout", "[search]") {
  Ranking ranking(10, false);
  for (const double days : {5.0, 3.0, 4.0}) {
    for (std::uint64_t inner = 0; inner < 3; ++inner) {
      RunScore score;
      score.days = days + static_cast<double>(inner);
      score.memory = 10 - static_cast<double>(inner);
      score.place.block.ordinal = static_cast<std::uint64_t>(days);
      score.place.inner = inner;
      if (ranking.wants(score)) ranking.add(score);
    }
    ranking.end_block();
  }
  CHECK(ordinals(ranking.fastest()) == std::vector<std::uint64_t>{3, 4, 5});
  for (const auto& score : ranking.fastest()) CHECK(score.place.inner == 0);
  CHECK(ranking.front().size() == 3);  // 3 days at 10, 4 at 9, 5 at 8
  REQUIRE(ranking.parts().size() == 1);
  CHECK(ranking.parts().at(0).days == 3);
}

TEST_CASE("a score has the timing of its days", "[search]") {
  plan::Estimate estimate;
  estimate.days_to_train = 100;
  estimate.step_seconds = 10;
  estimate.step_low = 9;
  estimate.step_high = 12;
  estimate.peak_memory = 60e9;
  estimate.usable_memory = 80e9;
  const auto score = score_of(estimate, nullptr, {});
  CHECK(score.timing.days == 100);
  CHECK(std::abs(score.timing.spread - std::log(10.0 / 9)) < 1e-12);
  CHECK(score.headroom == 0.25);
}

TEST_CASE("layouts that may be as fast as the best are ties", "[search]") {
  std::vector<RunScore> scores(4);
  const double days[] = {10, 11, 12, 13};
  for (std::size_t i = 0; i < 4; ++i) {
    scores[i].days = days[i];
    scores[i].timing = {days[i], std::log(1.1), nullptr, 0};
  }
  CHECK(ties(scores) == 2);  // 11 / 1.1 and 12 / 1.1 lie below 11, 13 / 1.1 does not
  CHECK(ties({}) == 0);
}
