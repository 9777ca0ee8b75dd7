#include "core/train/data/synthetic.h"

#include <numeric>
#include <stdexcept>
#include <string>

#include "core/base/counter_random.h"

namespace orch::data {
namespace {

namespace random = counter_random;

// A factor near the golden section, so that consecutive tokens are far apart; coprime to the
// vocabulary, so that every token follows exactly one other.
std::uint64_t factor_for(std::uint64_t vocab) {
  auto factor = static_cast<std::uint64_t>(0.618 * static_cast<double>(vocab)) + 1;
  while (std::gcd(factor, vocab) != 1) ++factor;
  return factor;
}

// Uses the upper half of the bits; the lower half decides between the two cases.
std::int32_t any_token(std::uint64_t bits, std::uint64_t vocab) {
  return static_cast<std::int32_t>((bits >> 32) * vocab >> 32);
}

}  // namespace

Synthetic::Synthetic(std::int64_t vocab, std::uint64_t key, std::int64_t samples)
    : vocab_(static_cast<std::uint64_t>(vocab)),
      factor_(factor_for(vocab_)),
      key_(key),
      samples_(samples) {}

std::int32_t Synthetic::after(std::int32_t token) const {
  return static_cast<std::int32_t>((factor_ * static_cast<std::uint64_t>(token) + 1) % vocab_);
}

void Synthetic::read(std::int64_t sample, std::span<std::int32_t> to) const {
  if (sample < 0 || sample >= samples_)
    throw std::runtime_error("synthetic data: no sample " + std::to_string(sample) + " of " +
                             std::to_string(samples_));
  const auto key = random::combine(key_, static_cast<std::uint64_t>(sample));
  for (std::size_t i = 0; i < to.size(); ++i) {
    const auto bits = random::bits(key, i);
    const bool follows = i > 0 && (bits & 3) != 0;
    to[i] = follows ? after(to[i - 1]) : any_token(bits, vocab_);
  }
}

}  // namespace orch::data
