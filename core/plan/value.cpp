#include "core/plan/value.h"

#include <fmt/format.h>

#include <cmath>

#include "core/base/text.h"

namespace orch::plan {

std::string show(const Value& value) {
  struct Show {
    std::string operator()(std::monostate) const { return "nothing"; }
    std::string operator()(bool flag) const { return flag ? "true" : "false"; }
    std::string operator()(std::int64_t number) const { return std::to_string(number); }
    std::string operator()(double number) const {  // the sign of a NaN differs between machines
      return std::isnan(number) ? "nan" : fmt::format("{}", number);
    }
    std::string operator()(const std::string& text) const { return "'" + printable(text) + "'"; }
  };
  return std::visit(Show{}, value);
}

std::string plain(const Value& value) {
  const auto* text = std::get_if<std::string>(&value);
  return text ? *text : show(value);
}

}  // namespace orch::plan
