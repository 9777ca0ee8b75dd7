#include "backends/runtime/step/settings.h"

#include <fmt/format.h>

#include <stdexcept>

namespace orch::train {
namespace {

const plan::Value& given(const plan::Run& run, const std::string& name) {
  const auto& value = run.setting(name);
  if (!plan::is_given(value))
    throw std::out_of_range(fmt::format("run.json: settings.{}: is missing", name));
  return value;
}

template <class T>
const T& get(const plan::Run& run, const std::string& name, const char* type) {
  if (const auto* held = std::get_if<T>(&given(run, name))) return *held;
  throw std::invalid_argument(fmt::format("run.json: settings.{}: is not {}", name, type));
}

}  // namespace

bool Settings::flag(const std::string& name) const {
  return get<bool>(run_, name, "true or false");
}

bool Settings::flag_or(const std::string& name, bool fallback) const {
  return plan::is_given(run_.setting(name)) ? flag(name) : fallback;
}

std::int64_t Settings::integer(const std::string& name) const {
  return get<std::int64_t>(run_, name, "a whole number");
}

double Settings::real(const std::string& name) const {
  if (std::holds_alternative<std::int64_t>(given(run_, name)))
    return static_cast<double>(integer(name));
  return get<double>(run_, name, "a number");
}

double Settings::real_or(const std::string& name, double fallback) const {
  return plan::is_given(run_.setting(name)) ? real(name) : fallback;
}

std::string Settings::text(const std::string& name) const {
  return get<std::string>(run_, name, "a text");
}

}  // namespace orch::train
