#include "core/record/statistics/interval.h"

#include <algorithm>
#include <array>
#include <boost/math/distributions/binomial.hpp>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>
#include <numeric>

#include "core/base/result.h"

namespace orch::statistics {
namespace {

constexpr std::size_t kOrderStatistics = 6;  // for fewer, extremes cover less than 95 %

double deviation(const std::vector<double>& values) {  // needs at least two
  const double middle = mean(values);
  double squares = 0;
  for (const double value : values) squares += (value - middle) * (value - middle);
  return std::sqrt(squares / static_cast<double>(values.size() - 1));
}

std::vector<double> usable(std::vector<double> values, bool positive) {
  std::erase_if(values,
                [&](double value) { return !std::isfinite(value) || (positive && value <= 0); });
  return values;
}

std::vector<double> logarithms(std::vector<double> values) {
  for (auto& value : values) value = std::log(value);
  return values;
}

// The rank correlation of neighbours, which a single step of a thousand seconds cannot distort.
double neighbours(const std::vector<double>& values) {
  const auto rank = ranks(values);
  const auto n = static_cast<double>(values.size());
  const double middle = (n + 1) / 2;
  double both = 0, alone = 0;
  for (std::size_t i = 0; i < rank.size(); ++i) {
    alone += (rank[i] - middle) * (rank[i] - middle);
    if (i > 0) both += (rank[i] - middle) * (rank[i - 1] - middle);
  }
  return alone > 0 ? both / alone : 0;
}

// The number of independent values that these are equivalent to. A correlation within its standard
// error (1 / sqrt(n)) counts as zero: otherwise half of all independent series would be corrected.
double independent(const std::vector<double>& values) {
  const auto n = static_cast<double>(values.size());
  if (values.size() < kOrderStatistics) return n;
  const double r = std::min(neighbours(values) + 1 / n, 0.99);  // the estimate is biased by -1 / n
  return r > 1 / std::sqrt(n) ? std::max(2.0, n * (1 - r) / (1 + r)) : n;
}

// The greatest k for which the k-th of n values is above the median with a probability of at most
// 2.5 %.
std::size_t lower_rank(std::size_t n) {
  namespace policies = boost::math::policies;
  using Upwards = policies::policy<policies::discrete_quantile<policies::integer_round_up>>;
  const boost::math::binomial_distribution<double, Upwards> below(static_cast<double>(n), 0.5);
  return static_cast<std::size_t>(boost::math::quantile(below, 0.025));
}

// Order statistics of n sorted values that are equivalent to `worth` independent ones: the same
// quantiles as for that many values.
void order_limits(const std::vector<double>& sorted, double worth, Interval& out) {
  const auto n = static_cast<double>(sorted.size());
  const auto few = std::floor(worth);
  const double reach =
      ((few + 1) / 2 - static_cast<double>(lower_rank(static_cast<std::size_t>(few)))) * n / few;
  const auto rank = static_cast<std::size_t>((n + 1) / 2 - reach + 1e-9);
  out.low = sorted[rank - 1];
  out.high = sorted[sorted.size() - rank];
}

// The ratio of the standard deviation of the median of n normal values to that of their mean.
double against_mean(std::size_t n) {
  constexpr std::array<double, 6> kExact = {1, 1, 1, 1.1602, 1.0922, 1.1976};
  return n < kExact.size() ? kExact[n] : std::sqrt(std::acos(-1.0) / 2);
}

void student_limits(const std::vector<double>& values, double worth, Interval& out) {
  const bool positive = *std::min_element(values.begin(), values.end()) > 0;
  const double error = deviation(positive ? logarithms(values) : values) *
                       against_mean(values.size()) / std::sqrt(worth);
  const double reach = student_t(0.975, worth - 1) * error;
  const double high = positive ? out.value * std::exp(reach) : out.value + reach;
  if (!std::isfinite(high)) return;  // unknown for extreme ratios such as 1e-300 to 1e300
  out.low = positive ? out.value * std::exp(-reach) : out.value - reach;
  out.high = high;
}

// Correlated values show little of their spread, but among six or more some are on either side of
// the median: the limits need not exceed the observed range.
void keep_within(const std::vector<double>& values, Interval& out) {
  if (!out.has_limits()) return;
  const auto [least, most] = std::minmax_element(values.begin(), values.end());
  out.low = std::max(*out.low, *least);
  out.high = std::min(*out.high, *most);
}

// The distance of the limits from the value, in logarithms.
double below(const Interval& i) { return std::log(i.value / *i.low); }
double above(const Interval& i) { return std::log(*i.high / i.value); }

}  // namespace

double student_t(double probability, double degrees) {
  return boost::math::quantile(boost::math::students_t(degrees), probability);
}

Interval Interval::times(double factor) const {
  Interval out{value * factor, {}, {}, n};
  if (has_limits()) out.low = *low * factor, out.high = *high * factor;
  return out;
}

Interval Interval::inverse(double numerator) const {
  Interval out{numerator / value, {}, {}, n};
  if (has_limits()) out.low = numerator / *high, out.high = numerator / *low;
  return out;
}

double mean(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

double quantile(std::vector<double> values, double q) {
  ORCH_CHECK(!values.empty(), "a quantile of nothing");
  const double at = q * static_cast<double>(values.size() - 1);
  const auto place = values.begin() + static_cast<std::ptrdiff_t>(at);
  std::nth_element(values.begin(), place, values.end());
  const double share = at - std::floor(at);
  if (share == 0) return *place;
  return *place + share * (*std::min_element(place + 1, values.end()) - *place);
}

double spread(const std::vector<double>& values) {
  const double middle = median(values);
  auto distances = values;
  for (auto& value : distances) value = std::abs(value - middle);
  return 1.4826 * median(std::move(distances));
}

std::vector<double> ranks(const std::vector<double>& values) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](auto a, auto b) { return values[a] < values[b]; });
  std::vector<double> out(values.size());
  for (std::size_t first = 0, last = 0; first < order.size(); first = last) {
    while (last < order.size() && values[order[last]] == values[order[first]]) ++last;
    for (auto i = first; i < last; ++i) out[order[i]] = static_cast<double>(first + last + 1) / 2;
  }
  return out;
}

Interval median_interval(const std::vector<double>& all) {
  auto values = usable(all, false);
  Interval out;
  out.n = values.size();
  if (values.empty()) return out;
  out.value = median(values);
  if (out.n == 1) return out;
  const double worth = independent(values);
  if (worth < kOrderStatistics) {
    student_limits(values, worth, out);
    if (out.n >= kOrderStatistics) keep_within(values, out);
  } else {
    std::sort(values.begin(), values.end());
    order_limits(values, worth, out);
  }
  return out;
}

Interval repeats_interval(const std::vector<double>& medians) {
  const auto values = logarithms(usable(medians, true));
  Interval out;
  out.n = values.size();
  if (values.empty()) return out;
  out.value = std::exp(mean(values));
  if (out.n == 1) return out;
  const auto n = static_cast<double>(out.n);
  const double reach = student_t(0.975, n - 1) * deviation(values) / std::sqrt(n);
  if (!std::isfinite(out.value * std::exp(reach))) return out;
  out.low = out.value * std::exp(-reach);
  out.high = out.value * std::exp(reach);
  return out;
}

Interval ratio(const Interval& a, const Interval& b) {
  Interval out;
  out.n = std::min(a.n, b.n);
  out.value = a.value / b.value;
  if (!a.has_limits() || !b.has_limits() || !(*a.low > 0) || !(*b.low > 0)) return out;
  out.low = out.value * std::exp(-std::hypot(below(a), above(b)));
  out.high = out.value * std::exp(std::hypot(above(a), below(b)));
  return out;
}

}  // namespace orch::statistics
