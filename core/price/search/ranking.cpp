#include "core/price/search/ranking.h"

#include <algorithm>
#include <tuple>

namespace orch::search {
namespace {

std::tuple<std::uint64_t, std::uint64_t> ordinal(const Score& score) {
  return {score.place.block.ordinal, score.place.inner};
}

// Whether a score would take the place of a block's best so far, and of the list's worst.
bool leads(const std::optional<Score>& best, const TopList& list, const Score& score,
           Order before) {
  return (!best || before(score, *best)) && list.wants(score);
}

}  // namespace

Score score_of(const plan::Estimate& estimate, const plan::Partition* machine,
               const Place& place) {
  Score score;
  score.days = estimate.days_to_train;
  score.gpu_hours = estimate.gpu_hours;
  score.memory = estimate.peak_memory;
  score.headroom = 1 - estimate.peak_memory / estimate.usable_memory;
  score.timing = plan::timing_of(estimate, machine);
  score.place = place;
  return score;
}

bool faster(const Score& a, const Score& b) {
  return std::tuple(a.days, a.gpu_hours, ordinal(a)) < std::tuple(b.days, b.gpu_hours, ordinal(b));
}

bool cheaper(const Score& a, const Score& b) {
  return std::tuple(a.gpu_hours, a.days, ordinal(a)) < std::tuple(b.gpu_hours, b.days, ordinal(b));
}

bool roomier(const Score& a, const Score& b) {
  return std::tuple(-a.headroom, a.days, ordinal(a)) < std::tuple(-b.headroom, b.days, ordinal(b));
}

bool TopList::wants(const Score& score) const {
  return heap_.size() < size_ || (size_ > 0 && before_(score, heap_.front()));
}

void TopList::add(const Score& score) {
  if (!wants(score)) return;
  if (heap_.size() == size_) {
    std::pop_heap(heap_.begin(), heap_.end(), before_);
    heap_.pop_back();
  }
  heap_.push_back(score);
  std::push_heap(heap_.begin(), heap_.end(), before_);
}

void TopList::merge(const TopList& other) {
  for (const auto& score : other.heap_) add(score);
}

std::vector<Score> TopList::sorted() const {
  auto scores = heap_;
  std::sort(scores.begin(), scores.end(), before_);
  return scores;
}

// As good in everything, and better in something or first in place.
bool Front::beats(const Score& a, const Score& b) const {
  if (a.days > b.days || a.memory > b.memory || (gpu_hours_ && a.gpu_hours > b.gpu_hours))
    return false;
  return a.days < b.days || a.memory < b.memory || (gpu_hours_ && a.gpu_hours < b.gpu_hours) ||
         ordinal(a) < ordinal(b);
}

bool Front::wants(const Score& score) const {
  if (last_ < scores_.size() && beats(scores_[last_], score)) return false;
  for (std::size_t i = 0; i < scores_.size(); ++i) {
    if (!beats(scores_[i], score)) continue;
    last_ = i;
    return false;
  }
  return true;
}

void Front::add(const Score& score) {
  if (!wants(score)) return;
  std::erase_if(scores_, [&](const Score& known) { return beats(score, known); });
  scores_.push_back(score);
}

void Front::merge(const Front& other) {
  for (const auto& score : other.scores_) add(score);
}

std::vector<Score> Front::sorted() const {
  auto scores = scores_;
  std::sort(scores.begin(), scores.end(), faster);
  return scores;
}

Ranking::Ranking(std::size_t size, bool gpu_hours)
    : time_(faster, size), gpu_hours_(cheaper, size), headroom_(roomier, size), front_(gpu_hours) {}

bool Ranking::leads_part(const Score& score) const {
  const auto known = parts_.find(score.place.block.part);
  return known == parts_.end() || faster(score, known->second);
}

bool Ranking::wants(const Score& score) const {
  return leads(block_time_, time_, score, faster) ||
         leads(block_gpu_hours_, gpu_hours_, score, cheaper) ||
         leads(block_headroom_, headroom_, score, roomier) || leads_part(score) ||
         front_.wants(score);
}

void Ranking::add(const Score& score) {
  if (leads(block_time_, time_, score, faster)) block_time_ = score;
  if (leads(block_gpu_hours_, gpu_hours_, score, cheaper)) block_gpu_hours_ = score;
  if (leads(block_headroom_, headroom_, score, roomier)) block_headroom_ = score;
  if (leads_part(score)) parts_[score.place.block.part] = score;
  front_.add(score);
}

void Ranking::end_block() {
  if (block_time_) time_.add(*block_time_);
  if (block_gpu_hours_) gpu_hours_.add(*block_gpu_hours_);
  if (block_headroom_) headroom_.add(*block_headroom_);
  block_time_.reset();
  block_gpu_hours_.reset();
  block_headroom_.reset();
}

void Ranking::merge(const Ranking& other) {
  time_.merge(other.time_);
  gpu_hours_.merge(other.gpu_hours_);
  headroom_.merge(other.headroom_);
  front_.merge(other.front_);
  for (const auto& [part, score] : other.parts_)
    if (leads_part(score)) parts_[part] = score;
}

}  // namespace orch::search
