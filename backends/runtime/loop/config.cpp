#include "backends/runtime/loop/config.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace orch::train {
namespace {

const RunConfig::Setting& setting_of(const RunConfig& config, const std::string& name) {
  const auto found = config.settings.find(name);
  if (found == config.settings.end() || std::holds_alternative<std::monostate>(found->second))
    throw std::out_of_range(fmt::format("run.json: settings.{}: is missing", name));
  return found->second;
}

template <class T>
const T& get(const RunConfig& config, const std::string& name, const char* type) {
  if (const auto* held = std::get_if<T>(&setting_of(config, name))) return *held;
  throw std::invalid_argument(fmt::format("run.json: settings.{}: is not {}", name, type));
}

}  // namespace

bool RunConfig::flag(const std::string& setting) const {
  return get<bool>(*this, setting, "true or false");
}

std::int64_t RunConfig::integer(const std::string& setting) const {
  return get<std::int64_t>(*this, setting, "a whole number");
}

double RunConfig::real(const std::string& setting) const {
  if (std::holds_alternative<std::int64_t>(setting_of(*this, setting)))
    return static_cast<double>(integer(setting));
  return get<double>(*this, setting, "a number");
}

std::string RunConfig::text(const std::string& setting) const {
  return get<std::string>(*this, setting, "a text");
}

// Megatron's rule: equally many samples at every batch below the full one.
std::int64_t RunConfig::batch_at(std::int64_t consumed_samples) const {
  if (!rampup || consumed_samples >= rampup->samples) return global_batch;
  const auto increments = (global_batch - rampup->start) / rampup->step;
  const auto done = consumed_samples * increments / rampup->samples;
  return rampup->start + done * rampup->step;
}

std::int64_t RunConfig::total_steps() const {
  if (steps > 0) return steps;
  const auto samples =
      static_cast<std::int64_t>(std::ceil(tokens / static_cast<double>(model.seq)));
  const auto ramp = rampup ? std::min(samples, rampup->samples) : 0;
  std::int64_t count = 0, consumed = 0;
  for (; consumed < ramp; ++count) consumed += batch_at(consumed);
  return count + std::max<std::int64_t>(0, samples - consumed + global_batch - 1) / global_batch;
}

}  // namespace orch::train
