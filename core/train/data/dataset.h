#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "core/base/result.h"

namespace orch::data {

// Samples of seq + 1 tokens in a fixed order: sample i is the same on any number of ranks.
// Thread-safe for reading.
class Dataset {
 public:
  virtual ~Dataset() = default;
  virtual std::int64_t size() const = 0;  // number of samples
  // to.size() must be seq + 1. Throws std::runtime_error, naming file and place, for damaged data.
  virtual void read(std::int64_t sample, std::span<std::int32_t> to) const = 0;
};

enum class Split { train, valid, test };

struct DatasetOptions {
  std::string prefix = {};         // path prefix of .bin and .idx; "": synthetic tokens
  std::string split = "969,30,1";  // proportions of documents for training, validation and test
  Split which = Split::train;
  std::int64_t seq = 0;
  std::int64_t vocab = 0;  // larger tokens are an error
  std::int64_t seed = 1234;
  std::int64_t samples = 0;  // at least this many, in as many epochs as needed; 0: one epoch
};

// Opens the samples of a split. A split without documents, or with too few tokens for one sample,
// is an error; so is a token outside the vocabulary in the few samples that are checked here. All
// others are checked when they are read.
Result<std::unique_ptr<Dataset>> open_dataset(const DatasetOptions& options);

}  // namespace orch::data
