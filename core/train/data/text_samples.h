#pragma once

#include <cstdint>
#include <string>

#include "core/train/data/dataset.h"
#include "core/train/data/indexed.h"
#include "core/train/data/samples.h"

namespace orch::data {

// The samples of an indexed file, in their order. A token that is none of the vocabulary's is found
// when it is read.
class TextSamples : public Dataset {
 public:
  TextSamples(IndexedFile file, Order order, std::int64_t vocab);

  std::int64_t size() const override { return order_.size(); }
  void read(std::int64_t sample, std::span<std::int32_t> to) const override;

 private:
  void copy(std::size_t cut, std::span<std::int32_t> to) const;

  IndexedFile file_;
  Order order_;
  std::int64_t vocab_;
};

}  // namespace orch::data
