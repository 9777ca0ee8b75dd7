#include "core/train/data/dataset.h"

#include <algorithm>
#include <limits>
#include <stdexcept>
#include <utility>
#include <vector>

#include "core/base/counter_random.h"
#include "core/base/text.h"
#include "core/train/data/indexed.h"
#include "core/train/data/samples.h"
#include "core/train/data/synthetic.h"

namespace orch::data {
namespace {

constexpr std::int64_t kLooks = 16;                       // samples that are checked on opening
constexpr std::int64_t kEndless = std::int64_t{1} << 40;  // number of synthetic samples by default

// The samples of an indexed file, in their order. A token outside the vocabulary is detected when
// it is read.
class TextSamples : public Dataset {
 public:
  TextSamples(IndexedFile file, SampleOrder order, std::int64_t vocab)
      : file_(std::move(file)), order_(std::move(order)), vocab_(vocab) {}

  std::int64_t size() const override { return order_.size(); }
  void read(std::int64_t sample, std::span<std::int32_t> to) const override;

 private:
  void copy(std::size_t cut, std::span<std::int32_t> to) const;

  IndexedFile file_;
  SampleOrder order_;
  std::int64_t vocab_;
};

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

// Copies from the beginning of the sample, through as many documents as needed.
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

Status check(const DatasetOptions& options) {
  if (options.seq < 1 || options.seq >= std::numeric_limits<std::int32_t>::max())
    return Error{"data", "samples of " + std::to_string(options.seq) + " tokens", "give seq"};
  if (options.vocab < 1 || options.vocab > std::numeric_limits<std::int32_t>::max())
    return Error{"data", "a vocabulary of " + std::to_string(options.vocab), "give vocab"};
  if (options.samples < 0)
    return Error{"data", std::to_string(options.samples) + " samples are wanted", "0: one epoch"};
  // numpy's range of seeds; so Megatron can be given the same seed and order.
  if (options.seed < 0 || options.seed > std::numeric_limits<std::uint32_t>::max())
    return Error{"data", "the seed " + std::to_string(options.seed) + " is out of range",
                 "give one from 0 to 4294967295"};
  return {};
}

std::unique_ptr<Dataset> synthetic(const DatasetOptions& options) {
  auto key = counter_random::key_of("synthetic data");
  key = counter_random::combine(key, static_cast<std::uint64_t>(options.seed));
  key = counter_random::combine(key, static_cast<std::uint64_t>(options.which));
  return std::make_unique<Synthetic>(options.vocab, key,
                                     options.samples > 0 ? options.samples : kEndless);
}

// Detects at once what would otherwise fail within the first hour.
Status look(const Dataset& data, std::int64_t seq) {
  std::vector<std::int32_t> tokens(static_cast<std::size_t>(seq) + 1);
  const auto looks = std::min(kLooks, data.size());
  try {
    for (std::int64_t i = 0; i < looks; ++i) data.read(data.size() / looks * i, tokens);
  } catch (const std::runtime_error& error) {
    return Error{"data", error.what(), ""};
  }
  return {};
}

std::string_view name(Split split) {
  return split == Split::train ? "training" : split == Split::valid ? "validation" : "test";
}

}  // namespace

Result<std::unique_ptr<Dataset>> open_dataset(const DatasetOptions& options) {
  if (auto status = check(options); !status) return status.error();
  if (options.prefix.empty()) return synthetic(options);
  auto file = IndexedFile::open(options.prefix);
  if (!file) return file.error();
  const auto ranges = split_documents(options.split, file->sequences());
  if (!ranges) return ranges.error();
  const auto range = (*ranges)[static_cast<std::size_t>(options.which)];
  if (range.begin == range.end)
    return Error{printable(options.prefix),
                 "none of its " + std::to_string(file->sequences()) + "documents is in " +
                     std::string(name(options.which)) + " with split \"" +
                     printable(options.split) + "\"",
                 "give it a larger share, or build with more documents (--split-lines)"};
  std::vector<std::int32_t> sizes;
  for (auto i = range.begin; i < range.end; ++i) sizes.push_back(file->size(i));
  auto order = make_order(sizes, range.begin, options);
  if (!order) {
    auto error = order.error().front();
    error.place = printable(options.prefix) + ": " + std::string(name(options.which));
    return error;
  }
  auto data = std::make_unique<TextSamples>(std::move(*file), std::move(*order), options.vocab);
  if (auto status = look(*data, options.seq); !status) return status.error();
  return std::unique_ptr<Dataset>(std::move(data));
}

}  // namespace orch::data
