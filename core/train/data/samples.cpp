#include "core/train/data/samples.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>
#include <string>

#include "core/base/number.h"
#include "core/base/text.h"

namespace orch::data {
namespace {

constexpr std::int64_t kMost = std::numeric_limits<std::uint32_t>::max() - 1;

struct Epochs {
  std::int64_t tokens_each = 0;
  std::int64_t count = 1;
  bool last_apart = false;
  std::int64_t before_last = 0;  // samples, if the last epoch is separate
};

// A sample needs seq tokens, and all of them together one more.
std::int64_t samples_in(std::int64_t tokens, std::int64_t seq) { return (tokens - 1) / seq; }

Epochs count_epochs(std::int64_t tokens, const DatasetOptions& options) {
  Epochs epochs{.tokens_each = tokens};
  const auto wanted = options.samples * options.seq + 1;
  if (options.samples > 0) epochs.count = std::max<std::int64_t>(1, (wanted + tokens - 1) / tokens);
  if (epochs.count == 1) return epochs;
  epochs.before_last = samples_in((epochs.count - 1) * tokens, options.seq);
  const auto of_last = options.samples - epochs.before_last;
  // Rounded down, as in Megatron.
  const auto enough =
      static_cast<std::int64_t>(0.80 * static_cast<double>(samples_in(tokens, options.seq)));
  epochs.last_apart = of_last < enough;
  return epochs;
}

// Adds a number of epochs of all documents, shuffled together.
void add_epochs(std::int64_t epochs, std::int64_t first, std::size_t documents,
                NumpyShuffle& shuffle, std::vector<std::uint32_t>& to) {
  const auto begin = to.size();
  for (std::int64_t epoch = 0; epoch < epochs; ++epoch)
    for (std::size_t i = 0; i < documents; ++i)
      to.push_back(static_cast<std::uint32_t>(first + static_cast<std::int64_t>(i)));
  shuffle(std::span(to).subspan(begin));
}

std::vector<std::uint32_t> order_documents(const Epochs& epochs, std::int64_t first,
                                           std::size_t documents, NumpyShuffle& shuffle) {
  std::vector<std::uint32_t> out;
  out.reserve(static_cast<std::size_t>(epochs.count) * documents);
  const auto together = epochs.last_apart ? epochs.count - 1 : epochs.count;
  add_epochs(together, first, documents, shuffle, out);
  if (epochs.last_apart) add_epochs(1, first, documents, shuffle, out);
  return out;
}

// Cuts the documents, one after the other, every seq tokens. The last token of a sample is the
// first of the next, so a cut never falls behind a document's last token.
std::vector<SampleOrder::Start> cut(std::span<const std::int32_t> sizes, std::int64_t first,
                                    const std::vector<std::uint32_t>& documents, std::int64_t seq,
                                    std::int64_t samples) {
  std::vector<SampleOrder::Start> starts{{0, 0}};
  starts.reserve(static_cast<std::size_t>(samples) + 1);
  std::uint32_t place = 0;
  std::int64_t offset = 0;
  for (std::int64_t i = 0; i < samples; ++i) {
    std::int64_t left = seq + 1;
    while (true) {
      const std::int64_t here = sizes[documents[place] - static_cast<std::size_t>(first)] - offset;
      if (here >= left) break;
      left -= here;
      ++place;
      offset = 0;
    }
    offset += left - 1;
    starts.push_back({place, static_cast<std::int32_t>(offset)});
  }
  return starts;
}

std::vector<std::uint32_t> shuffle_samples(const Epochs& epochs, std::int64_t samples,
                                           NumpyShuffle& shuffle) {
  std::vector<std::uint32_t> out(static_cast<std::size_t>(samples));
  std::iota(out.begin(), out.end(), 0);
  const auto together = static_cast<std::size_t>(epochs.last_apart ? epochs.before_last : samples);
  shuffle(std::span(out).first(together));
  shuffle(std::span(out).subspan(together));
  return out;
}

Error too_few(std::int64_t tokens, std::size_t documents, std::int64_t seq) {
  return {"data",
          std::to_string(tokens) + " tokens in " + std::to_string(documents) +
              " documents are too few for a sample of " + std::to_string(seq) + " + 1",
          "give this split a larger share, lower seq, or add data"};
}

}  // namespace

// Fisher-Yates from the end, with bits of a Mersenne twister masked until they fit: numpy
// guarantees this algorithm for its legacy generator.
void NumpyShuffle::operator()(std::span<std::uint32_t> values) {
  if (values.empty()) return;
  for (auto i = static_cast<std::uint32_t>(values.size() - 1); i > 0; --i)
    std::swap(values[i], values[up_to(i)]);
}

std::uint32_t NumpyShuffle::up_to(std::uint32_t max) {
  const auto mask = std::numeric_limits<std::uint32_t>::max() >> std::countl_zero(max);
  std::uint32_t value = 0;
  while ((value = static_cast<std::uint32_t>(stream_()) & mask) > max) {
  }
  return value;
}

Result<std::vector<SampleRange>> split_documents(std::string_view split, std::int64_t documents) {
  const Error bad{"split", "'" + printable(split) + "' is not a list of up to three shares",
                  "as in \"969,30,1\": for training, validation and test"};
  double shares[3] = {}, sum = 0;
  const auto words = orch::split(split, ',');
  if (words.size() > 3) return bad;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const auto share = number_from<double>(trim(words[i]));
    if (!share || *share < 0) return bad;
    sum += shares[i] = *share;
  }
  if (!(sum > 0)) return bad;
  std::vector<SampleRange> out;
  double from = 0;
  for (const double share : shares) {
    const double to = from + share / sum;
    // Rounds half to even, as Python does.
    const auto at = [&](double x) {
      return static_cast<std::int64_t>(std::nearbyint(x * static_cast<double>(documents)));
    };
    out.push_back({at(from), std::min(at(to), documents)});
    from = to;
  }
  return out;
}

Result<SampleOrder> make_order(std::span<const std::int32_t> sizes, std::int64_t first,
                               const DatasetOptions& options) {
  ORCH_CHECK(options.seq > 0 && options.samples >= 0, "a sample has tokens");
  const auto tokens = std::accumulate(sizes.begin(), sizes.end(), std::int64_t{0});
  if (tokens < 1 || (options.samples == 0 && tokens <= options.seq))
    return too_few(tokens, sizes.size(), options.seq);
  if (options.samples > kMost / 2)
    return Error{"data", "more than 2^31 samples are wanted", "lower the tokens of the run"};
  const auto epochs = count_epochs(tokens, options);
  const auto samples = samples_in(epochs.count * tokens, options.seq);
  const auto places = epochs.count * static_cast<std::int64_t>(sizes.size());
  if (samples > kMost || places > kMost || first > kMost - static_cast<std::int64_t>(sizes.size()))
    return Error{"data", "more than 4,294,967,294 samples or documents, over all epochs",
                 "merge short documents, or split the data"};
  NumpyShuffle shuffle(static_cast<std::uint32_t>(options.seed));
  SampleOrder order;
  order.documents = order_documents(epochs, first, sizes.size(), shuffle);
  order.starts = cut(sizes, first, order.documents, options.seq, samples);
  order.shuffle = shuffle_samples(epochs, samples, shuffle);
  return order;
}

}  // namespace orch::data
