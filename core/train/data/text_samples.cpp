#include "core/train/data/text_samples.h"

#include <algorithm>
#include <stdexcept>

#include "core/base/text.h"

namespace orch::data {

TextSamples::TextSamples(IndexedFile file, Order order, std::int64_t vocab)
    : file_(std::move(file)), order_(std::move(order)), vocab_(vocab) {}

void TextSamples::read(std::int64_t sample, std::span<std::int32_t> to) const {
  const auto place = printable(bin_path(file_.prefix())) + ": sample " + std::to_string(sample);
  if (sample < 0 || sample >= size())
    throw std::runtime_error(place + " does not exist: there are " + std::to_string(size()));
  copy(order_.shuffle[static_cast<std::size_t>(sample)], to);
  for (const auto token : to)
    if (token < 0 || token >= vocab_)
      throw std::runtime_error(place + " holds token " + std::to_string(token) +
                               ": the vocabulary of " + std::to_string(vocab_) +
                               " is too small\n  give the model the vocabulary that the data was "
                               "built with, or build the data again with the model's tokenizer");
}

// From where the sample begins, through as many documents as it takes.
void TextSamples::copy(std::size_t cut, std::span<std::int32_t> to) const {
  auto [place, offset] = order_.starts[cut];
  for (std::size_t done = 0; done < to.size(); ++place, offset = 0) {
    const std::int64_t document = order_.documents[place];
    const auto here = static_cast<std::size_t>(file_.size(document) - offset);
    const auto n = std::min(here, to.size() - done);
    file_.read(document, offset, to.subspan(done, n));
    done += n;
  }
}

}  // namespace orch::data
