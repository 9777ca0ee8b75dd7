#pragma once

#include <initializer_list>
#include <nlohmann/json.hpp>
#include <string>

#include "core/base/result.h"
#include "core/plan/fields.h"

namespace orch::huggingface {

using Json = nlohmann::ordered_json;

// A config.json as it is read: one field under any of its names, and what speaks against it.
struct Config {
  const Json& json;
  std::string place;
  Errors errors = {};

  const Json* find(std::initializer_list<const char*> names) const;
  // A size within its limits; `missing` where there is none.
  std::int64_t size(plan::Field field, std::initializer_list<const char*> names,
                    std::int64_t missing = 0);
  double real(plan::Field field, const char* name, double missing);
  bool flag(const char* name, bool missing);
  // A field that must have this value if it is there.
  void only(const char* name, const Json& value);
  void refuse(std::string fact, std::string fix = "");
};

}  // namespace orch::huggingface
