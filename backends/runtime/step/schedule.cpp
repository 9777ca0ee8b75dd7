#include <algorithm>
#include <cmath>
#include <numbers>
#include <stdexcept>

#include "backends/runtime/step/optimizer.h"

namespace orch::train {

double learning_rate_at(const ScheduleOptions& options, std::int64_t step) {
  const auto real = [](std::int64_t number) { return static_cast<double>(number); };
  const double most = options.learning_rate, least = options.min_learning_rate;
  if (step <= options.warmup_steps) return most * real(step) / real(options.warmup_steps);
  if (options.schedule == "constant") return most;
  if (step >= options.decay_steps) return least;
  const double done =
      real(step - options.warmup_steps) / real(options.decay_steps - options.warmup_steps);
  if (options.schedule == "linear") return most - (most - least) * done;
  if (options.schedule != "cosine")
    throw std::invalid_argument("training.schedule: no schedule '" + options.schedule +
                                "': use cosine, linear or constant");
  return least + (most - least) * (1 + std::cos(std::numbers::pi * done)) / 2;
}

}  // namespace orch::train
