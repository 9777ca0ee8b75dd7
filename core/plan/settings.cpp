#include "core/plan/settings.h"

#include <algorithm>

namespace orch::plan {

void Settings::set(std::size_t i, const Value& value) {
  const auto held = std::find_if(changed_.begin(), changed_.end(),
                                 [i](const auto& change) { return change.first == i; });
  if (held != changed_.end())
    held->second = value;
  else if ((*base_)[i] != value)
    changed_.emplace_back(i, value);
}

void Settings::push_back(Value value) {
  auto all = values();
  all.push_back(std::move(value));
  *this = Settings(std::move(all));
}

Settings Settings::shared_with(const Settings& other) const {
  if (size() != other.size() || size() == 0) return *this;
  Settings out;
  out.base_ = other.base_;
  for (std::size_t i = 0; i < size(); ++i)
    if (const auto& value = (*this)[i]; value != (*out.base_)[i])
      out.changed_.emplace_back(i, value);
  if (out.changed_.size() > size() / 2) return *this;
  out.changed_.shrink_to_fit();
  return out;
}

bool Settings::operator==(const Settings& other) const { return values() == other.values(); }

std::vector<Value> Settings::values() const {
  std::vector<Value> all;
  all.reserve(size() + 1);
  for (std::size_t i = 0; i < size(); ++i) all.push_back((*this)[i]);
  return all;
}

}  // namespace orch::plan
