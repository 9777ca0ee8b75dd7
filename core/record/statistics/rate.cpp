#include "core/record/statistics/rate.h"

#include <boost/math/distributions/gamma.hpp>

namespace orch::statistics {

double GammaRate::quantile(double probability) const {
  return boost::math::quantile(boost::math::gamma_distribution<>(count, 1 / exposure), probability);
}

}  // namespace orch::statistics
