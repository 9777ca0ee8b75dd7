#include <fmt/format.h>

#include "core/base/text.h"
#include "core/train/huggingface/architecture.h"

namespace orch::huggingface {

const Json* Config::find(std::initializer_list<const char*> names) const {
  for (const auto* name : names)
    if (const auto found = json.find(name); found != json.end() && !found->is_null())
      return &*found;
  return nullptr;
}

// Limits the layer list and matrices, so that a damaged file cannot exhaust memory.
std::int64_t Config::size(plan::Field field, std::initializer_list<const char*> names,
                          std::int64_t missing) {
  const auto* found = find(names);
  if (!found && missing > 0) return missing;
  const auto& param = plan::param_of(field);
  if (found && found->is_number_integer() && *found >= param.min && *found <= param.max)
    return found->get<std::int64_t>();
  refuse(fmt::format("{} is missing, or not a number from {:.0f} to {:.0f}", *names.begin(),
                     param.min, param.max),
         "check the folder");
  return 1;
}

double Config::real(plan::Field field, const char* name, double missing) {
  const auto* found = find({name});
  if (!found) return missing;
  const auto& param = plan::param_of(field);
  if (found->is_number() && *found >= param.min && *found <= param.max) return found->get<double>();
  refuse(fmt::format("{} is not a number from {:g} to {:g}", name, param.min, param.max),
         "check the folder");
  return missing;
}

bool Config::flag(const char* name, bool missing) {
  const auto* found = find({name});
  if (!found) return missing;
  if (found->is_boolean()) return found->get<bool>();
  refuse(std::string(name) + " is neither true nor false", "check the folder");
  return missing;
}

void Config::only(const char* name, const Json& value) {
  const auto* found = find({name});
  if (found && *found != value)
    refuse(std::string(name) + " is " + found->dump() + ", and our models have " + value.dump());
}

void Config::refuse(std::string fact, std::string fix) {
  errors.push_back({place, printable(fact), std::move(fix)});
}

}  // namespace orch::huggingface
