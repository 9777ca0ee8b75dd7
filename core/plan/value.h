#pragma once

#include <cstdint>
#include <string>
#include <variant>

namespace orch::plan {

// What a field of an experiment can hold; monostate is "not given".
using Value = std::variant<std::monostate, bool, std::int64_t, double, std::string>;

inline bool is_given(const Value& value) { return value.index() != 0; }

// "8", "0.5", "true", "'powersgd'", "nothing": for messages.
std::string show(const Value& value);
// The same, but a string without quotes.
std::string plain(const Value& value);

}  // namespace orch::plan
