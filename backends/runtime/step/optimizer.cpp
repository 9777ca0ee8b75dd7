#include "backends/runtime/step/optimizer.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>
#include <tuple>

#include "backends/runtime/model/profile.h"

namespace orch::train {

std::unique_ptr<Optimizer> make_optimizer(const std::string& name, Parameters& parameters,
                                          const OptimizerOptions& options) {
  if (name == "adamw") return make_adamw(parameters, options);
  if (name == "adafactor") return make_adafactor(parameters, options);
  throw std::invalid_argument(
      fmt::format("settings.optimizer: no optimizer '{}': use adamw or adafactor", name));
}

void finish(Optimizer& optimizer, std::size_t owned, Profile& profile) {
  if (optimizer.is_finished(owned)) return optimizer.finish(owned);
  Profile::Scope scope(&profile, "optimizer on the host");
  optimizer.finish(owned);
}

LossScale::LossScale(bool dynamic, double initial, std::int64_t window)
    : dynamic_(dynamic), scale_(dynamic ? initial : 1), window_(window) {}

void LossScale::update(bool overflow) {
  if (!dynamic_) return;
  constexpr std::int64_t kRising = 10;
  if (overflow) {
    scale_ /= 2;
    good_steps_ = 0;
    has_overflowed_ = true;
  } else if (++good_steps_ >= (has_overflowed_ ? window_ : std::min(window_, kRising))) {
    scale_ *= 2;
    good_steps_ = 0;
  }
}

void LossScale::restore(const State& state) {
  if (dynamic_) std::tie(scale_, good_steps_, has_overflowed_) = state;
}

}  // namespace orch::train
