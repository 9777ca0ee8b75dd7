#include "core/record/ingest/literals.h"

#include <algorithm>

namespace orch::ingest {

void Literals::add(std::string_view text, std::uint32_t id) {
  if (!text.empty()) entries_.push_back({std::string(text), id});
}

void Literals::build() {
  classes_.fill(0);
  width_ = 1;
  for (const auto& entry : entries_)
    for (const char c : entry.text)
      if (auto& known = classes_[static_cast<unsigned char>(c)]; known == 0)
        known = static_cast<std::uint16_t>(width_++);

  // The tree of all texts.
  std::vector<std::vector<std::uint32_t>> tree(1, std::vector<std::uint32_t>(width_, 0));
  std::vector<std::uint32_t> outputs(1, kNone);
  outputs_.clear();
  for (const auto& entry : entries_) {
    std::uint32_t state = 0;
    for (const char c : entry.text) {
      const auto symbol = classes_[static_cast<unsigned char>(c)];
      if (tree[state][symbol] == 0) {
        tree[state][symbol] = static_cast<std::uint32_t>(tree.size());
        tree.emplace_back(width_, 0);
        outputs.push_back(kNone);
      }
      state = tree[state][symbol];
    }
    outputs_.push_back({entry.id, static_cast<std::uint32_t>(entry.text.size()), outputs[state]});
    outputs[state] = static_cast<std::uint32_t>(outputs_.size() - 1);
  }

  // Level by level: where a text does not go on, its longest end that begins another one does.
  std::vector<std::uint32_t> fail(tree.size(), 0), order;
  for (std::uint32_t symbol = 0; symbol < width_; ++symbol)
    if (tree[0][symbol] != 0) order.push_back(tree[0][symbol]);
  for (std::size_t i = 0; i < order.size(); ++i) {
    const auto state = order[i];
    if (outputs[state] == kNone) {
      outputs[state] = outputs[fail[state]];
    } else {
      auto last = outputs[state];
      while (outputs_[last].next != kNone) last = outputs_[last].next;
      outputs_[last].next = outputs[fail[state]];
    }
    for (std::uint32_t symbol = 0; symbol < width_; ++symbol) {
      const auto child = tree[state][symbol];
      if (child == 0) {
        tree[state][symbol] = tree[fail[state]][symbol];
      } else {
        fail[child] = tree[fail[state]][symbol];
        order.push_back(child);
      }
    }
  }

  // States without outputs first: one comparison tells whether there is anything to do.
  std::vector<std::uint32_t> place(tree.size());
  std::uint32_t count = 0;
  for (const bool plain : {true, false}) {
    if (!plain) first_plain_ = count * width_;
    for (std::size_t state = 0; state < tree.size(); ++state)
      if ((outputs[state] == kNone) == plain) place[state] = count++;
  }
  next_.assign(tree.size() * width_, 0);
  outputs_at_.assign(tree.size(), kNone);
  for (std::size_t state = 0; state < tree.size(); ++state) {
    outputs_at_[place[state]] = outputs[state];
    for (std::uint32_t symbol = 0; symbol < width_; ++symbol)
      next_[std::size_t{place[state]} * width_ + symbol] = place[tree[state][symbol]] * width_;
  }
}

}  // namespace orch::ingest
