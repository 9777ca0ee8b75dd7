#pragma once

// Reads a declared setting in a trainer.

#include <fmt/format.h>

#include <stdexcept>
#include <string>

#include "core/plan/run.h"
#include "core/plan/setting.h"

namespace orch::plan {

// Throws std::out_of_range naming a setting that run.json lacks, std::invalid_argument for another
// type.
template <class T>
auto value_of(const Run& run, const DeclaredSetting<T>& setting) {
  using Stored = std::conditional_t<std::is_same_v<T, std::string_view>, std::string, T>;
  const auto& value = run.setting(setting.name);
  if (const auto* held = std::get_if<Stored>(&value)) return *held;
  if constexpr (std::is_same_v<T, double>)
    if (const auto* whole = std::get_if<std::int64_t>(&value)) return static_cast<double>(*whole);
  if (!is_given(value))
    throw std::out_of_range(fmt::format("run.json: settings.{}: is missing", setting.name));
  constexpr std::array kTypes{"", "true or false", "an integer", "a number", "a string"};
  throw std::invalid_argument(fmt::format("run.json: settings.{}: is not {}", setting.name,
                                          kTypes[Value(Stored()).index()]));
}

}  // namespace orch::plan
