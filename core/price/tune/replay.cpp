#include "core/price/tune/replay.h"

#include <algorithm>
#include <numeric>

namespace orch::tune {
namespace {

// The expected minimum of `drawn` of these times, without replacement.
double least_of(std::vector<double> times, std::size_t drawn) {
  std::sort(times.begin(), times.end());
  double out = 0, chance = 1;  // that none of the faster ones is drawn
  for (std::size_t i = 0; i + drawn <= times.size(); ++i) {
    const double is_drawn = static_cast<double>(drawn) / static_cast<double>(times.size() - i);
    out += chance * is_drawn * times[i];
    chance *= 1 - is_drawn;
  }
  return out;
}

// The position of the first that is good enough, from 1.
std::size_t first_good(const std::vector<std::size_t>& order, const std::vector<double>& times,
                       double enough) {
  const auto found =
      std::find_if(order.begin(), order.end(), [&](std::size_t i) { return times[i] <= enough; });
  return static_cast<std::size_t>(found - order.begin()) + 1;
}

}  // namespace

Replay replay(const std::vector<TuneCandidate>& candidates, const std::vector<double>& times,
              const TuneLimits& limits) {
  Replay out;
  std::vector<MeasuredTime> measured;
  std::vector<std::size_t> order;
  auto belief = believe(candidates, measured);
  const auto take = [&] {
    measured.push_back({*belief.next, times[*belief.next]});
    order.push_back(*belief.next);
    belief = believe(candidates, measured);
  };
  while (order.size() < limits.measured && !is_known(belief, measured, limits)) take();
  out.measured = order;
  const double fastest = *std::min_element(times.begin(), times.end());
  const auto chosen = *std::min_element(order.begin(), order.end(),
                                        [&](auto a, auto b) { return times[a] < times[b]; });
  out.regret = times[chosen] / fastest - 1;
  out.regret_random = least_of(times, order.size()) / fastest - 1;

  const double enough = fastest * (1 + limits.regret);
  while (belief.next && first_good(order, times, enough) > order.size()) take();
  out.needed = first_good(order, times, enough);
  std::vector<std::size_t> estimated(times.size());
  std::iota(estimated.begin(), estimated.end(), 0);
  std::stable_sort(estimated.begin(), estimated.end(), [&](auto a, auto b) {
    return candidates[a].timing.days < candidates[b].timing.days;
  });
  out.regret_estimate = times[estimated.front()] / fastest - 1;
  out.needed_estimate = first_good(estimated, times, enough);
  const auto good =
      std::count_if(times.begin(), times.end(), [&](double time) { return time <= enough; });
  out.needed_random = static_cast<double>(times.size() + 1) / static_cast<double>(good + 1);
  return out;
}

}  // namespace orch::tune
