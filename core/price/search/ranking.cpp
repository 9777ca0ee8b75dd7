#include "core/price/search/ranking.h"

#include <algorithm>
#include <tuple>

namespace orch::search {
namespace {

std::tuple<std::uint64_t, std::uint64_t> ordinal(const RunScore& score) {
  return {score.place.block.ordinal, score.place.inner};
}

}  // namespace

RunScore score_of(const plan::Estimate& estimate, const plan::Partition* machine,
                  const SpacePlace& place) {
  RunScore score;
  score.days = estimate.days_to_train;
  score.gpu_hours = estimate.gpu_hours;
  score.memory = estimate.peak_memory;
  score.headroom = 1 - estimate.peak_memory / estimate.usable_memory;
  score.timing = plan::timing_of(estimate, machine);
  score.place = place;
  return score;
}

bool faster(const RunScore& a, const RunScore& b) {
  return std::tuple(a.days, a.gpu_hours, a.memory, ordinal(a)) <
         std::tuple(b.days, b.gpu_hours, b.memory, ordinal(b));
}

bool cheaper(const RunScore& a, const RunScore& b) {
  return std::tuple(a.gpu_hours, a.days, a.memory, ordinal(a)) <
         std::tuple(b.gpu_hours, b.days, b.memory, ordinal(b));
}

bool roomier(const RunScore& a, const RunScore& b) {
  return std::tuple(-a.headroom, a.days, ordinal(a)) < std::tuple(-b.headroom, b.days, ordinal(b));
}

bool TopList::has_place_for(const RunScore& score) const {
  return heap_.size() < size_ || (size_ > 0 && before_(score, heap_.front()));
}

bool TopList::wants(const RunScore& score) const {
  return (!of_block_ || before_(score, *of_block_)) && has_place_for(score);
}

void TopList::offer(const RunScore& score) {
  if (wants(score)) of_block_ = score;
}

void TopList::end_block() {
  if (of_block_) add(*of_block_);
  of_block_.reset();
}

void TopList::add(const RunScore& score) {
  if (!has_place_for(score)) return;
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

std::vector<RunScore> TopList::sorted() const {
  auto scores = heap_;
  std::sort(scores.begin(), scores.end(), before_);
  return scores;
}

// True if a is as good in everything, and better in something or earlier in the space.
bool ParetoFront::beats(const RunScore& a, const RunScore& b) const {
  if (a.days > b.days || a.memory > b.memory || (gpu_hours_ && a.gpu_hours > b.gpu_hours))
    return false;
  return a.days < b.days || a.memory < b.memory || (gpu_hours_ && a.gpu_hours < b.gpu_hours) ||
         ordinal(a) < ordinal(b);
}

bool ParetoFront::wants(const RunScore& score) const {
  if (last_ < scores_.size() && beats(scores_[last_], score)) return false;
  for (std::size_t i = 0; i < scores_.size(); ++i) {
    if (!beats(scores_[i], score)) continue;
    last_ = i;
    return false;
  }
  return true;
}

void ParetoFront::add(const RunScore& score) {
  if (!wants(score)) return;
  std::erase_if(scores_, [&](const RunScore& known) { return beats(score, known); });
  scores_.push_back(score);
}

void ParetoFront::merge(const ParetoFront& other) {
  for (const auto& score : other.scores_) add(score);
}

std::vector<RunScore> ParetoFront::sorted() const {
  auto scores = scores_;
  std::sort(scores.begin(), scores.end(), faster);
  return scores;
}

Ranking::Ranking(std::size_t size, bool gpu_hours)
    : lists_{TopList{faster, size}, {cheaper, size}}, front_(gpu_hours) {}

bool Ranking::leads_part(const RunScore& score) const {
  const auto known = parts_.find(score.place.block.part);
  return known == parts_.end() || faster(score, known->second);
}

bool Ranking::wants(const RunScore& score) const {
  return std::any_of(lists_.begin(), lists_.end(),
                     [&](const TopList& list) { return list.wants(score); }) ||
         leads_part(score) || front_.wants(score);
}

void Ranking::add(const RunScore& score) {
  for (auto& list : lists_) list.offer(score);
  if (leads_part(score)) parts_[score.place.block.part] = score;
  front_.add(score);
}

void Ranking::end_block() {
  for (auto& list : lists_) list.end_block();
}

void Ranking::merge(const Ranking& other) {
  for (std::size_t i = 0; i < lists_.size(); ++i) lists_[i].merge(other.lists_[i]);
  front_.merge(other.front_);
  for (const auto& [part, score] : other.parts_)
    if (leads_part(score)) parts_[part] = score;
}

}  // namespace orch::search
