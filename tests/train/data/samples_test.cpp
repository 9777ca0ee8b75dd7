// Expectations are those of numpy and Megatron-LM, printed by megatron_order.py beside this file.
#include "core/train/data/samples.h"

#include "tests/test.h"

using namespace orch;
using namespace orch::data;

namespace {

// zlib's.
std::uint32_t crc(std::span<const std::uint32_t> values) {
  std::uint32_t crc = ~0u;
  for (const auto byte : std::as_bytes(values)) {
    crc ^= static_cast<std::uint32_t>(byte);
    for (int i = 0; i < 8; ++i) crc = crc >> 1 ^ (crc & 1 ? 0xedb88320u : 0);
  }
  return ~crc;
}

std::vector<std::uint32_t> flat(const std::vector<SampleOrder::Start>& starts) {
  std::vector<std::uint32_t> out;
  for (const auto& start : starts) {
    out.push_back(start.place);
    out.push_back(static_cast<std::uint32_t>(start.offset));
  }
  return out;
}

std::vector<SampleRange> split(const char* text, std::int64_t documents) {
  const auto ranges = split_documents(text, documents);
  REQUIRE(ranges);
  return *ranges;
}

const std::vector<std::int32_t> kSizes{5, 3, 7, 1, 4, 6};

using SampleNumbers = std::vector<std::uint32_t>;
using Starts = std::vector<SampleOrder::Start>;

}  // namespace

TEST_CASE("numbers are shuffled as numpy's RandomState does", "[data][samples]") {
  NumpyShuffle shuffle(1234);
  SampleNumbers ten(10);
  std::iota(ten.begin(), ten.end(), 0);
  shuffle(ten);
  // python3 -c 'import numpy as np; a = np.arange(10); np.random.RandomState(1234).shuffle(a);
  // print(a)'
  CHECK(ten == SampleNumbers{7, 2, 9, 1, 0, 8, 4, 5, 6, 3});
}

TEST_CASE("a long shuffle leaves the stream where numpy leaves it", "[data][samples]") {
  NumpyShuffle shuffle(4294967295);
  SampleNumbers large(100000), small(5);
  std::iota(large.begin(), large.end(), 0);
  std::iota(small.begin(), small.end(), 0);
  shuffle(large);
  shuffle(small);
  CHECK(crc(large) == 2432269818);
  CHECK(small == SampleNumbers{2, 0, 3, 4, 1});
}

TEST_CASE("documents are split as Megatron splits them", "[data][samples]") {
  CHECK(split("969,30,1", 1000) == std::vector<SampleRange>{{0, 969}, {969, 999}, {999, 1000}});
  CHECK(split("969,30,1", 100) == std::vector<SampleRange>{{0, 97}, {97, 100}, {100, 100}});
  CHECK(split("969,30,1", 500) == std::vector<SampleRange>{{0, 484}, {484, 500}, {500, 500}});
  // Half to even: 2.5 is 2, 1.5 is 2.
  CHECK(split("1,1", 5) == std::vector<SampleRange>{{0, 2}, {2, 5}, {5, 5}});
  CHECK(split("1,1", 3) == std::vector<SampleRange>{{0, 2}, {2, 3}, {3, 3}});
  CHECK(split(" 0.9, 0.05,0.05", 10) == std::vector<SampleRange>{{0, 9}, {9, 10}, {10, 10}});
  CHECK(split("100", 9) == std::vector<SampleRange>{{0, 9}, {9, 9}, {9, 9}});
}

TEST_CASE("a split that is none is an error", "[data][samples]") {
  for (const auto* bad : {"", "0,0", "1,x", "1,2,3,4", "-1,2", "nan", "inf", "1e400", "9,,1"})
    CHECK_FALSE(split_documents(bad, 10));
}

TEST_CASE("one epoch is in Megatron's order", "[data][samples]") {
  const auto order = make_order(kSizes, 0, {.seq = 4, .seed = 1234, .samples = 0});
  REQUIRE(order);
  CHECK(order->documents == SampleNumbers{2, 1, 5, 0, 4, 3});
  CHECK(order->starts == Starts{{0, 0}, {0, 4}, {1, 1}, {2, 2}, {3, 0}, {3, 4}, {4, 3}});
  CHECK(order->shuffle == SampleNumbers{0, 4, 3, 2, 5, 1});
}

TEST_CASE("a last epoch of which little is needed is apart", "[data][samples]") {
  const auto order = make_order(kSizes, 10, {.seq = 4, .seed = 7, .samples = 14});
  REQUIRE(order);
  CHECK(order->documents ==
        SampleNumbers{11, 14, 12, 15, 10, 11, 15, 12, 13, 10, 13, 14, 11, 14, 15, 13, 10, 12});
  CHECK(order->starts == Starts{{0, 0},  {1, 1},  {2, 1},  {2, 5},  {3, 2},  {4, 0},  {4, 4},
                                {6, 0},  {6, 4},  {7, 2},  {7, 6},  {9, 2},  {11, 0}, {12, 0},
                                {13, 1}, {14, 1}, {14, 5}, {16, 2}, {17, 1}, {17, 5}});
  CHECK(order->shuffle ==
        SampleNumbers{8, 5, 1, 9, 4, 3, 6, 2, 10, 11, 7, 0, 14, 16, 13, 15, 18, 17, 12});
}

TEST_CASE("many documents, empty ones among them, are in Megatron's order", "[data][samples]") {
  std::vector<std::int32_t> sizes;
  for (int i = 0; i < 5000; ++i) sizes.push_back(i * 7919 % 613);
  const auto one = make_order(sizes, 100, {.seq = 128, .seed = 1234, .samples = 3000});
  REQUIRE(one);
  CHECK(one->size() == 11953);
  CHECK(crc(one->documents) == 2014794901);
  CHECK(crc(flat(one->starts)) == 2170251624);
  CHECK(crc(one->shuffle) == 2252139596);
  const auto two = make_order(sizes, 100, {.seq = 128, .seed = 1234, .samples = 12000});
  REQUIRE(two);
  CHECK(crc(two->documents) == 2333252937);
  CHECK(crc(flat(two->starts)) == 1615964233);
  CHECK(crc(two->shuffle) == 2220419806);
}

TEST_CASE("there are as many samples as were wanted, also of little data", "[data][samples]") {
  const std::vector<std::int32_t> sizes{2, 1};
  for (std::int64_t wanted = 1; wanted < 50; ++wanted)
    for (std::int64_t seq = 1; seq < 9; ++seq) {
      const auto order = make_order(sizes, 0, {.seq = seq, .seed = 1, .samples = wanted});
      REQUIRE(order);
      CHECK(order->size() >= wanted);
    }
}

TEST_CASE("no tokens, or too few for a sample, are an error", "[data][samples]") {
  CHECK_FALSE(make_order({}, 0, {.seq = 4, .samples = 3}));
  CHECK_FALSE(make_order(std::vector<std::int32_t>{0, 0}, 0, {.seq = 4, .samples = 3}));
  CHECK_FALSE(make_order(std::vector<std::int32_t>{2, 2}, 0, {.seq = 4, .samples = 0}));
  CHECK(make_order(std::vector<std::int32_t>{2, 3}, 0, {.seq = 4, .samples = 0}));
}
