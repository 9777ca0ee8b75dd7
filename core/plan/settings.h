#pragma once

#include <cstddef>
#include <initializer_list>
#include <memory>
#include <utility>
#include <vector>

#include "core/plan/value.h"

namespace orch::plan {

// The values of a strategy's parameters, in their order. Copies share values and store only the
// ones set since: a plan may have 200,000 runs, which differ in a few.
class Settings {
 public:
  Settings() = default;
  Settings(std::vector<Value> values)
      : base_(std::make_shared<const std::vector<Value>>(std::move(values))) {}
  Settings(std::initializer_list<Value> values) : Settings(std::vector<Value>(values)) {}

  std::size_t size() const { return base_ ? base_->size() : 0; }
  const Value& operator[](std::size_t i) const {
    for (const auto& [place, value] : changed_)
      if (place == i) return value;
    return (*base_)[i];
  }
  void set(std::size_t i, const Value& value);
  // After this, values stay where they are, whatever is set.
  void make_room() { changed_.reserve(size()); }
  void push_back(Value value);

  // The same values, sharing storage with `other` as far as they are equal.
  Settings shared_with(const Settings& other) const;

  bool operator==(const Settings& other) const;

 private:
  std::vector<Value> values() const;

  std::shared_ptr<const std::vector<Value>> base_;
  std::vector<std::pair<std::size_t, Value>> changed_;
};

}  // namespace orch::plan
