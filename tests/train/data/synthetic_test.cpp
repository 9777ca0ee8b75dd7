#include "core/train/data/synthetic.h"

#include "tests/test.h"
#include "tests/train/data/entropy.h"
#include "tests/train/data/folder.h"

using namespace orch::data;

namespace {

std::unique_ptr<Dataset> open(const DatasetOptions& options) {
  auto data = open_dataset(options);
  REQUIRE(data);
  return std::move(*data);
}

}  // namespace

TEST_CASE("a synthetic token follows the one before it three times of four", "[data][synthetic]") {
  constexpr std::int64_t kVocab = 100;
  const auto data = open({.seq = 1024, .vocab = kVocab, .samples = 200});
  const Synthetic process(kVocab, 0, 1);
  std::vector<int> counts(kVocab);
  int followed = 0, all = 0;
  for (std::int64_t i = 0; i < data->size(); ++i) {
    const auto tokens = sample(*data, i, 1025);
    for (std::size_t k = 1; k < tokens.size(); ++k, ++all) {
      REQUIRE((tokens[k] >= 0 && tokens[k] < kVocab));
      ++counts[static_cast<std::size_t>(tokens[k])];
      followed += tokens[k] == process.after(tokens[k - 1]);
    }
  }
  // 3/4, and 1/100 of the rest; the deviation of 204,800 draws is 0.001.
  CHECK(std::abs(static_cast<double>(followed) / all - 0.7525) < 0.005);
  // Every token is equally frequent: 2,048 of each, and the chain makes the deviation about 100.
  for (const int count : counts) CHECK(std::abs(count - 2048) < 500);
}

TEST_CASE("each token follows just one other", "[data][synthetic]") {
  for (const std::int64_t vocab : {1, 2, 3, 64, 257, 50257, 65536}) {
    const Synthetic process(vocab, 0, 1);
    std::set<std::int32_t> seen;
    for (std::int32_t token = 0; token < vocab; ++token) seen.insert(process.after(token));
    CHECK(seen.size() == static_cast<std::size_t>(vocab));
  }
}

TEST_CASE("the entropy is that of the counted pairs", "[data][synthetic]") {
  // With two tokens: 7/8 and 1/8. -(7/8 ln 7/8 + 1/8 ln 1/8) = 0.3767702
  CHECK(synthetic_entropy(2) == Catch::Approx(0.3767702).epsilon(1e-6));
  CHECK(synthetic_entropy(1) == Catch::Approx(0).margin(1e-12));
  // Counted: the conditional entropy of 400,000 pairs over 8 tokens.
  const auto data = open({.seq = 1000, .vocab = 8, .samples = 400});
  std::map<std::pair<int, int>, double> pairs;
  std::map<int, double> firsts;
  for (std::int64_t i = 0; i < data->size(); ++i) {
    const auto tokens = sample(*data, i, 1001);
    for (std::size_t k = 1; k < tokens.size(); ++k) {
      ++pairs[{tokens[k - 1], tokens[k]}];
      ++firsts[tokens[k - 1]];
    }
  }
  double entropy = 0;
  for (const auto& [pair, count] : pairs)
    entropy -= count / 400'000 * std::log(count / firsts[pair.first]);
  CHECK(entropy == Catch::Approx(synthetic_entropy(8)).epsilon(0.01));
}

TEST_CASE("synthetic samples depend on seed, split and number alone", "[data][synthetic]") {
  const DatasetOptions options{.seq = 32, .vocab = 1000, .seed = 5, .samples = 10};
  auto other_seed = options, other_split = options, more = options;
  other_seed.seed = 6;
  other_split.which = Split::valid;
  more.samples = 20;
  const auto first = sample(*open(options), 3, 33);
  CHECK(sample(*open(options), 3, 33) == first);
  CHECK(sample(*open(more), 3, 33) == first);
  CHECK(sample(*open(options), 4, 33) != first);
  CHECK(sample(*open(other_seed), 3, 33) != first);
  CHECK(sample(*open(other_split), 3, 33) != first);
  CHECK_THROWS_AS(sample(*open(options), 10, 33), std::runtime_error);
}
