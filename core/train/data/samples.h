#pragma once

#include <cstdint>
#include <random>
#include <span>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/train/data/dataset.h"

namespace orch::data {

// The order of samples is that of Megatron-LM's GPT dataset: documents are shuffled, epoch after
// epoch, and cut into samples of seq + 1 tokens that share one token with their neighbour; then the
// samples are shuffled. A last epoch of which only a small part is needed is shuffled separately,
// so that none of its documents comes before others have come once.

// numpy's RandomState(seed).shuffle: the same permutation, and the same state of the generator
// afterwards.
class NumpyShuffle {
 public:
  explicit NumpyShuffle(std::uint32_t seed) : stream_(seed) {}
  void operator()(std::span<std::uint32_t> values);

 private:
  std::uint32_t up_to(std::uint32_t max);
  std::mt19937 stream_;
};

// The documents [begin, end) of each split: "969,30,1" of 1000 gives 969, 30 and 1. Missing numbers
// are 0.
struct SampleRange {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  bool operator==(const SampleRange&) const = default;
};
Result<std::vector<SampleRange>> split_documents(std::string_view split, std::int64_t documents);

struct SampleOrder {
  // The beginning of a sample: an index in `documents`, and a token of that document. Sample i ends
  // with the token that sample i + 1 begins with.
  struct Start {
    std::uint32_t place = 0;
    std::int32_t offset = 0;
    bool operator==(const Start&) const = default;
  };
  std::vector<std::uint32_t> documents;  // of all epochs
  std::vector<Start> starts;             // one more than samples
  std::vector<std::uint32_t> shuffle;    // the i-th sample is starts[shuffle[i]]

  std::int64_t size() const { return static_cast<std::int64_t>(shuffle.size()); }
};

// sizes: of the split's documents, in tokens; they are numbered from `first`. Uses seq, samples and
// seed of the options.
Result<SampleOrder> make_order(std::span<const std::int32_t> sizes, std::int64_t first,
                               const DatasetOptions& options);

}  // namespace orch::data
