#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

namespace orch::tables {

using Json = nlohmann::ordered_json;

inline Json or_null(const std::optional<double>& number) { return number ? Json(*number) : Json(); }

// The document as text, indented, with a final line break. Users' texts may contain any bytes;
// invalid UTF-8 is replaced, without an exception.
inline std::string dump(const Json& json) {
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace orch::tables
