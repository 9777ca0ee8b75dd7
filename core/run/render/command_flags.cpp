#include "core/run/render/command_flags.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "core/base/text.h"

namespace orch::render {
namespace {

constexpr std::string_view kLauncher = "launcher:";

std::string normal(std::string name) {
  std::replace(name.begin(), name.end(), '_', '-');
  return name;
}

// "--lr" and "-x", but not the number "-1".
bool opens_flag(std::string_view word) {
  if (word.size() < 2 || word.front() != '-') return false;
  return word[1] == '-' ? word.size() > 2 : std::isalpha(static_cast<unsigned char>(word[1])) != 0;
}

}  // namespace

void CommandFlags::add_words(const std::vector<std::string>& words, const std::string& prefix) {
  GivenFlag* open = nullptr;
  for (const auto& word : words) {
    if (opens_flag(word)) {
      const auto equals = word.starts_with("--") ? word.find('=') : std::string::npos;
      const auto name = word.substr(0, equals);
      open = &(flags_[normal(prefix + name)] = {name, {}, false});
      if (equals != std::string::npos) open->values.push_back(word.substr(equals + 1));
    } else if (open) {
      open->values.push_back(word);
    } else if (!word.empty() && prefix.empty()) {
      stray_.push_back(word);
    }
  }
}

void CommandFlags::add_settings(const FlatSettings& settings, const std::string& prefix) {
  for (const auto& [name, value] : settings)
    flags_.emplace(normal(prefix + name), GivenFlag{name, {value}, false});
}

std::optional<std::vector<std::string>> CommandFlags::values(const std::string& name) {
  const auto key = normal(name);
  known_.insert(name);
  const auto found = flags_.find(key);
  if (found == flags_.end()) return std::nullopt;
  found->second.asked = true;
  return found->second.values;
}

bool CommandFlags::has(const std::string& name) const { return flags_.contains(normal(name)); }

void CommandFlags::mark(const std::string& name) {
  const auto found = flags_.find(normal(name));
  known_.insert(name);
  if (found == flags_.end() || found->second.asked) return;
  found->second.asked = true;
  ++marked_;
}

std::vector<std::string> CommandFlags::ignored() const {
  const std::vector<std::string> known(known_.begin(), known_.end());
  std::vector<std::string> out;
  for (const auto& [key, flag] : flags_) {
    if (flag.asked || key.starts_with(kLauncher)) continue;
    const auto near = nearest(normal(flag.written), known);
    out.push_back(printable(flag.written) +
                  (near && !has(*near) ? fmt::format(" (did you mean {}?)", *near) : ""));
  }
  for (const auto& word : stray_) out.push_back(printable(word));
  return out;
}

}  // namespace orch::render
