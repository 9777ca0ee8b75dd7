#include <algorithm>
#include <cmath>
#include <numbers>
#include <stdexcept>

#include "backends/runtime/step/optimizer.h"

namespace orch::train {

double learning_rate_at(const plan::Training& training, std::int64_t steps, std::int64_t step) {
  const auto real = [](std::int64_t number) { return static_cast<double>(number); };
  const auto warmup = training.warmup_steps,
             decay = training.decay_steps > 0 ? training.decay_steps : steps;
  const double most = training.learning_rate, least = training.min_learning_rate;
  if (step <= warmup) return most * real(step) / real(warmup);
  if (training.schedule == "constant") return most;
  if (step >= decay) return least;
  const double done = real(step - warmup) / real(decay - warmup);
  if (training.schedule == "linear") return most - (most - least) * done;
  if (training.schedule != "cosine")
    throw std::invalid_argument("training.schedule: no schedule '" + training.schedule +
                                "': use cosine, linear or constant");
  return least + (most - least) * (1 + std::cos(std::numbers::pi * done)) / 2;
}

}  // namespace orch::train
