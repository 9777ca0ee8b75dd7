#include <fmt/format.h>

#include <algorithm>
#include <cstddef>

#include "core/base/text.h"
#include "core/plan/fields.h"
#include "core/price/backend/backend.h"

namespace orch::backend {
namespace {

// Far more than anyone has: a larger count is garbage, and the array behind it cannot be read.
constexpr std::uint32_t kMostStrategies = 1000;
constexpr std::uint32_t kMostParams = 1000;
constexpr const char* kAuthors = "report this to its authors, or take it out of the folder";

std::string text_or_empty(const char* text) { return text ? text : ""; }

// Elements may be larger than we know them: a newer minor version adds fields at the end.
template <class T>
const T& element(const T* array, std::uint32_t index, std::uint32_t size) {
  return *reinterpret_cast<const T*>(reinterpret_cast<const std::byte*>(array) +
                                     std::size_t{index} * size);
}

// A newer minor version may have made it larger; a smaller one cannot be read.
bool is_readable(const orch_value* value) { return value && value->struct_size >= sizeof *value; }

plan::Value to_value(const orch_value* value) {
  if (!is_readable(value) || !value->given) return {};
  switch (value->type) {
    case ORCH_BOOLEAN:
      return value->integer != 0;
    case ORCH_INTEGER:
      return value->integer;
    case ORCH_REAL:
      return value->real;
    default:
      return text_or_empty(value->text);
  }
}

plan::Param to_param(const orch_param& abi) {
  plan::Param param;
  param.name = text_or_empty(abi.name);
  param.doc = text_or_empty(abi.doc);
  param.type = static_cast<plan::ParamType>(abi.type);
  param.default_value = to_value(abi.default_value);
  if (abi.type == ORCH_CHOICE && abi.choices)
    for (auto choice = abi.choices; *choice; ++choice) param.choices.emplace_back(*choice);
  param.min = abi.min;
  param.max = abi.max;
  param.parent = text_or_empty(abi.parent);
  param.choice = text_or_empty(abi.choice);
  return param;
}

const plan::Param* find(const plan::Strategy& strategy, const std::string& name) {
  const int index = strategy.index(name);
  return index < 0 ? nullptr : &strategy.params[static_cast<std::size_t>(index)];
}

// The flaw of a parameter by itself, or empty.
std::string flaw(const orch_param& abi, const plan::Param& param) {
  if (!abi.name || !is_plain_name(param.name)) return "has an invalid name";
  if (plan::field_index(param.name, {}) >= 0) return "is named like a field that every run has";
  if (abi.type > ORCH_TEXT) return fmt::format("has type {}, which this orch lacks", abi.type);
  if (const auto* value = abi.default_value; value && !is_readable(value))
    return fmt::format("has a default of {} bytes, not the {} of ABI {}.{}", value->struct_size,
                       sizeof *value, ORCH_ABI_MAJOR, ORCH_ABI_MINOR);
  else if (value && value->given && value->type != abi.type)
    return "has a default of another type";
  if (abi.min > abi.max) return fmt::format("has the empty range {} to {}", abi.min, abi.max);
  if (abi.type != ORCH_CHOICE) return "";
  if (param.choices.empty()) return "is a choice without choices";
  if (const auto* text = std::get_if<std::string>(&param.default_value);
      text && !contains(param.choices, *text))
    return fmt::format("has the default '{}', which is not one of its choices", printable(*text));
  return "";
}

// The flaw of a parameter among the others, or empty.
std::string flaw(const plan::Strategy& strategy, const plan::Param& param) {
  if (find(strategy, param.name) != &param) return "is described twice";
  if (param.parent.empty()) return "";
  const auto* parent = find(strategy, param.parent);
  if (!parent)
    return fmt::format("belongs to '{}', which is not described", printable(param.parent));
  if (!contains(parent->choices, param.choice))
    return fmt::format("belongs to {} = '{}', which is not one of its choices", parent->name,
                       printable(param.choice));
  if (!param.name.starts_with(param.choice + "_") || param.field().empty())
    return fmt::format("belongs to {} = '{}': its name must begin with '{}_'", parent->name,
                       param.choice, param.choice);
  return "";
}

void check_params(const orch_strategy& abi, const plan::Strategy& strategy,
                  const std::string& place, Errors& errors) {
  for (std::uint32_t i = 0; i < abi.n_params; ++i) {
    const auto& param = strategy.params[i];
    auto what = flaw(element(abi.params, i, abi.param_size), param);
    if (what.empty()) what = flaw(strategy, param);
    if (!what.empty())
      errors.push_back({place,
                        fmt::format("strategy '{}': parameter '{}' {}", strategy.name,
                                    printable(param.name), what),
                        kAuthors});
  }
}

std::string flaw(const orch_strategy& abi) {
  if (!abi.name || !is_plain_name(abi.name)) return "has a strategy without a valid name";
  if (abi.n_params > 0 && !abi.params)
    return fmt::format("strategy '{}': reports {} parameters and gives none", abi.name,
                       abi.n_params);
  if (abi.n_params > kMostParams)
    return fmt::format("strategy '{}': reports {} parameters, more than {}", abi.name, abi.n_params,
                       kMostParams);
  if (abi.n_params > 0 && abi.param_size < sizeof(orch_param))
    return fmt::format("strategy '{}': its parameters have {} bytes, not the {} of ABI {}.{}",
                       abi.name, abi.param_size, sizeof(orch_param), ORCH_ABI_MAJOR,
                       ORCH_ABI_MINOR);
  return "";
}

// The handshake: checks a backend's description before its strategies are read.
Errors check_description(const orch_backend* abi, const std::string& place) {
  const auto flawed = [&](std::string fact, const char* fix) {
    return Errors(Error{place, std::move(fact), fix});
  };
  if (!abi)
    return flawed(fmt::format("declines to work with ABI {}.{}", ORCH_ABI_MAJOR, ORCH_ABI_MINOR),
                  kRebuild);
  if (abi->abi_major != ORCH_ABI_MAJOR)
    return flawed(
        fmt::format("speaks ABI {}, this orch speaks ABI {}", abi->abi_major, ORCH_ABI_MAJOR),
        kRebuild);
  if (abi->struct_size < offsetof(orch_backend, fit))  // its first field since ABI 3.1
    return flawed(fmt::format("describes itself in {} bytes, ABI {}.{} has {}", abi->struct_size,
                              ORCH_ABI_MAJOR, 0, offsetof(orch_backend, fit)),
                  kRebuild);
  Errors errors;
  const auto require = [&](bool there, const char* what) {
    if (!there) errors.push_back({place, fmt::format("lacks {}", what), kAuthors});
  };
  require(abi->name && is_plain_name(abi->name), "a valid name");
  require(abi->version, "a version");
  require(abi->check, "the function check");
  require(abi->work, "the function work");
  require(abi->strategies && abi->n_strategies > 0, "strategies");
  if (abi->n_strategies > kMostStrategies)
    errors.push_back(
        {place,
         fmt::format("reports {} strategies, more than {}", abi->n_strategies, kMostStrategies),
         kAuthors});
  if (abi->strategies && abi->strategy_size < sizeof(orch_strategy))
    errors.push_back(
        {place,
         fmt::format("its strategies have {} bytes, not the {} of ABI {}.{}", abi->strategy_size,
                     sizeof(orch_strategy), ORCH_ABI_MAJOR, ORCH_ABI_MINOR),
         kRebuild});
  return errors;
}

// Problems are added to errors.
std::vector<plan::StrategyPtr> strategies_of(const orch_backend& abi, const std::string& place,
                                             Errors& errors) {
  std::vector<plan::StrategyPtr> strategies;
  for (std::uint32_t i = 0; i < abi.n_strategies; ++i) {
    const auto& from = element(abi.strategies, i, abi.strategy_size);
    if (auto what = flaw(from); !what.empty()) {
      errors.push_back({place, std::move(what), kAuthors});
      continue;
    }
    plan::Strategy strategy;
    strategy.name = from.name;
    strategy.backend = abi.name;
    strategy.backend_version = abi.version;
    strategy.doc = text_or_empty(from.doc);
    for (std::uint32_t p = 0; p < from.n_params; ++p)
      strategy.params.push_back(to_param(element(from.params, p, from.param_size)));
    check_params(from, strategy, place, errors);
    strategies.push_back(std::make_shared<const plan::Strategy>(std::move(strategy)));
  }
  return strategies;
}

}  // namespace

Backend::Backend(const orch_backend* abi, fs::path file)
    : abi_(abi),
      file_(std::move(file)),
      name_(abi->name),
      version_(abi->version),
      doc_(abi->doc ? abi->doc : "") {}

Result<Backend> Backend::from(const orch_backend* abi, const fs::path& file) {
  const auto place = file.string();
  auto errors = check_description(abi, place);
  if (!errors.empty()) return errors;
  Backend backend(abi, file);
  backend.strategies_ = strategies_of(*abi, place, errors);
  if (!errors.empty()) return errors;
  return backend;
}

}  // namespace orch::backend
