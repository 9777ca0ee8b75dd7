#include "core/train/data/dataset.h"

#include <thread>

#include "tests/test.h"
#include "tests/text.h"
#include "tests/train/data/folder.h"

using namespace orch;
using namespace orch::data;

namespace {

// Documents of these sizes, with consecutive tokens 0, 1, 2, ...
Documents counting(const std::vector<std::size_t>& sizes) {
  Documents out;
  std::int32_t next = 0;
  for (const auto size : sizes) {
    out.emplace_back(size);
    std::iota(out.back().begin(), out.back().end(), next);
    next += static_cast<std::int32_t>(size);
  }
  return out;
}

std::string error_of(const DatasetOptions& options) {
  const auto data = open_dataset(options);
  return data ? "opened" : text(data.error());
}

}  // namespace

TEST_CASE("samples are those that Megatron draws", "[data]") {
  const DataFolder folder;
  REQUIRE(write(folder.prefix(), counting({5, 0, 3, 7, 1, 4, 6}), TokenDtype::u16));
  const auto data = open_dataset(
      {.prefix = folder.prefix(), .split = "1", .seq = 4, .vocab = 26, .seed = 42, .samples = 8});
  REQUIRE(data);
  // "tokens:" of megatron_order.py.
  const Documents expected{{0, 1, 2, 3, 4},      {4, 16, 17, 18, 19},  {20, 21, 22, 23, 24},
                           {15, 8, 9, 10, 11},   {11, 12, 13, 14, 20}, {19, 5, 6, 7, 15},
                           {24, 25, 16, 17, 18}, {2, 3, 4, 8, 9},      {7, 20, 21, 22, 23},
                           {9, 10, 11, 12, 13},  {18, 19, 0, 1, 2},    {13, 14, 5, 6, 7}};
  REQUIRE((*data)->size() == 12);
  for (std::int64_t i = 0; i < 12; ++i)
    CHECK(sample(**data, i, 5) == expected[static_cast<std::size_t>(i)]);
  CHECK_THROWS_AS(sample(**data, 12, 5), std::runtime_error);
  CHECK_THROWS_AS(sample(**data, -1, 5), std::runtime_error);
}

TEST_CASE("splits share no token", "[data]") {
  const DataFolder folder;
  REQUIRE(write(folder.prefix(), counting(std::vector<std::size_t>(10, 20)), TokenDtype::i32));
  DatasetOptions options{.prefix = folder.prefix(), .split = "8,1,1", .seq = 4, .vocab = 200};
  const auto range = [&](Split which) {
    options.which = which;
    const auto data = open_dataset(options);
    REQUIRE(data);
    std::int32_t low = 1000, high = 0;
    for (std::int64_t i = 0; i < (*data)->size(); ++i)
      for (const auto token : sample(**data, i, 5)) {
        low = std::min(low, token);
        high = std::max(high, token);
      }
    return std::pair(low, high);
  };
  // 160 and 20 tokens; the last ones of each are too few for a sample: (160 - 1) / 4 = 39.
  CHECK(range(Split::train).first == 0);
  CHECK(range(Split::train).second < 160);
  CHECK(range(Split::valid) == std::pair(160, 176));
  CHECK(range(Split::test) == std::pair(180, 196));
}

TEST_CASE("a vocabulary that is too small is found when the data is opened", "[data]") {
  const DataFolder folder;
  REQUIRE(write(folder.prefix(), counting({26}), TokenDtype::u16));
  const auto message = error_of({.prefix = folder.prefix(), .split = "1", .seq = 4, .vocab = 20});
  CHECK(has(message, "text.bin: sample"));
  CHECK(has(message, "holds token 2"));
  CHECK(has(message, "vocabulary of 20 is too small"));
}

TEST_CASE("a token beyond the vocabulary that no look found is an error when read", "[data]") {
  const DataFolder folder;
  auto documents = counting(std::vector<std::size_t>(100, 10));
  for (auto& document : documents) document.assign(10, 1);
  documents[57][3] = -4;
  REQUIRE(write(folder.prefix(), documents, TokenDtype::i32));
  int threw = 0, opened = 0;
  for (std::int64_t seed = 0; seed < 20; ++seed) {
    const auto data =
        open_dataset({.prefix = folder.prefix(), .split = "1", .seq = 4, .vocab = 9, .seed = seed});
    if (!data) continue;  // one of the checked samples had it
    ++opened;
    for (std::int64_t i = 0; i < (*data)->size(); ++i) {
      try {
        sample(**data, i, 5);
      } catch (const std::runtime_error& error) {
        ++threw;
        CHECK(has(error.what(), "sample " + std::to_string(i) + " holds token -4"));
      }
    }
  }
  CHECK(opened > 0);
  CHECK(threw >= opened);
}

TEST_CASE("data that cannot be used says why", "[data]") {
  const DataFolder folder;
  REQUIRE(write(folder.prefix(), counting({3, 4}), TokenDtype::u16));
  const DatasetOptions good{.prefix = folder.prefix(), .split = "1", .seq = 4, .vocab = 26};
  CHECK(error_of(good) == "opened");
  auto options = good;
  options.which = Split::valid;
  CHECK(has(error_of(options), "none of its 2documents is in validation"));
  options = good;
  options.seq = 7;
  CHECK(has(error_of(options), "7 tokens in 2 documents are too few"));
  options = good;
  options.prefix += "-not";
  CHECK(has(error_of(options), "text-not.idx: cannot open"));
  options = good;
  options.split = "x";
  CHECK(has(error_of(options), "'x' is not a list"));
  options = good;
  options.seed = -1;
  CHECK(has(error_of(options), "the seed -1 is out of range"));
  for (const auto bad : {0, -1}) {
    options = good;
    options.seq = bad;
    CHECK(has(error_of(options), "give seq"));
    options = good;
    options.vocab = bad;
    CHECK(has(error_of(options), "give vocab"));
  }
}

TEST_CASE("several threads read at once", "[data]") {
  const DataFolder folder;
  REQUIRE(write(folder.prefix(), counting(std::vector<std::size_t>(50, 37)), TokenDtype::u16));
  const auto data =
      open_dataset({.prefix = folder.prefix(), .split = "1", .seq = 8, .vocab = 2000});
  REQUIRE(data);
  Documents alone, together(static_cast<std::size_t>((*data)->size()));
  for (std::int64_t i = 0; i < (*data)->size(); ++i) alone.push_back(sample(**data, i, 9));
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (auto i = t; i < together.size(); i += 4)
        together[i] = sample(**data, static_cast<std::int64_t>(i), 9);
    });
  for (auto& thread : threads) thread.join();
  CHECK(together == alone);
}
