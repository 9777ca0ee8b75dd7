#include "core/show/compare/losses.h"

#include <algorithm>
#include <cmath>

#include "core/record/quantities.h"
#include "core/record/record.h"
#include "core/record/statistics/interval.h"
#include "core/show/compare/spikes.h"

namespace orch::compare {
namespace {

constexpr std::size_t kFewest = 4;            // points of a fit
constexpr std::size_t kEnoughResiduals = 12;  // points that tell noise

struct CurvePoint {
  double x = 0, y = 0;
};

std::vector<double> sums(const std::vector<CurvePoint>& points, double (*of)(const CurvePoint&)) {
  std::vector<double> out(points.size() + 1, 0.0);
  for (std::size_t i = 0; i < points.size(); ++i) out[i + 1] = out[i] + of(points[i]);
  return out;
}

// How alike neighbours are, from 0 (or less) to 1; single far points do not decide.
double likeness(std::vector<double> residuals, double sigma) {
  double products = 0, squares = 0;
  for (auto& r : residuals) r = std::clamp(r, -3 * sigma, 3 * sigma);
  for (std::size_t i = 0; i < residuals.size(); ++i) {
    squares += residuals[i] * residuals[i];
    if (i > 0) products += residuals[i] * residuals[i - 1];
  }
  const double r = squares > 0 ? products / squares : 0;
  return r > 1 / std::sqrt(static_cast<double>(residuals.size())) ? std::min(r, 0.99) : 0;
}

// A noisy curve over 0 to 1 that can be looked at smoothly: at each place, the line that fits best
// through the points around it.
class Curve {
 public:
  // In the order of x; the window is how far to both sides points count.
  Curve(std::vector<CurvePoint> points, double window);

  struct Fit {
    double value = 0;
    double error = 0;  // standard
  };
  std::optional<Fit> smooth(double x) const;  // nothing: too few points
  double interpolated(double x) const;        // between the two points around, as they are

 private:
  struct Line {
    std::size_t n = 0;
    double value = 0;
    double leverage = 1;  // the variance of the value in that of a point
  };
  Line line(double x) const;
  void measure_noise();

  std::vector<CurvePoint> points_;
  double window_;
  std::vector<double> x_, y_, xx_, xy_;  // sums up to each point, so that a fit takes no loop
  std::optional<double> noise_;          // of a point, more where neighbours are alike
};

Curve::Curve(std::vector<CurvePoint> points, double window)
    : points_(std::move(points)), window_(window) {
  x_ = sums(points_, [](const CurvePoint& p) { return p.x; });
  y_ = sums(points_, [](const CurvePoint& p) { return p.y; });
  xx_ = sums(points_, [](const CurvePoint& p) { return p.x * p.x; });
  xy_ = sums(points_, [](const CurvePoint& p) { return p.x * p.y; });
  measure_noise();
}

Curve::Line Curve::line(double x) const {
  const auto before = [](const CurvePoint& p, double at) { return p.x < at; };
  const auto after = [](double at, const CurvePoint& p) { return at < p.x; };
  const auto first = static_cast<std::size_t>(
      std::lower_bound(points_.begin(), points_.end(), x - window_, before) - points_.begin());
  const auto last = static_cast<std::size_t>(
      std::upper_bound(points_.begin(), points_.end(), x + window_, after) - points_.begin());
  Line out;
  out.n = last > first ? last - first : 0;
  if (out.n < kFewest) return out;
  const auto n = static_cast<double>(out.n);
  const double mean_x = (x_[last] - x_[first]) / n, mean_y = (y_[last] - y_[first]) / n;
  const double squares = (xx_[last] - xx_[first]) - n * mean_x * mean_x;
  const double products = (xy_[last] - xy_[first]) - n * mean_x * mean_y;
  const double slope = squares > 1e-12 ? products / squares : 0;
  out.value = mean_y + slope * (x - mean_x);
  out.leverage = 1 / n + (squares > 1e-12 ? (x - mean_x) * (x - mean_x) / squares : 0);
  return out;
}

double Curve::interpolated(double x) const {
  const auto after = std::lower_bound(points_.begin(), points_.end(), x,
                                      [](const CurvePoint& p, double at) { return p.x < at; });
  if (after == points_.begin()) return points_.front().y;
  if (after == points_.end()) return points_.back().y;
  const auto& a = *(after - 1);
  return a.y + (after->y - a.y) * (x - a.x) / (after->x - a.x);
}

// From what each point is away from its own line, corrected for its share in it.
void Curve::measure_noise() {
  std::vector<double> residuals;
  for (const auto& point : points_) {
    const auto fitted = line(point.x);
    if (fitted.n < kFewest || fitted.leverage > 0.8) continue;
    residuals.push_back((point.y - fitted.value) / std::sqrt(1 - fitted.leverage));
  }
  if (residuals.size() < kEnoughResiduals) return;
  const double sigma = statistics::spread(residuals);
  const double alike = likeness(std::move(residuals), sigma);
  noise_ = sigma * std::sqrt((1 + alike) / (1 - alike));
}

std::optional<Curve::Fit> Curve::smooth(double x) const {
  const auto fitted = line(x);
  if (fitted.n < kFewest || !noise_) return std::nullopt;
  return Fit{fitted.value, *noise_ * std::sqrt(fitted.leverage)};
}

using record::LossPoint;
using record::Record;
using Records = std::vector<const Record*>;
using Points = std::vector<CurvePoint>;

constexpr double kWindow = 0.025;  // of the range, to both sides
constexpr double kWidest = 0.1;
constexpr double kPointsAside = 6;  // at least, in the window to each side
constexpr int kGrid = 96;           // places looked at between 5 % and the end
constexpr double kSkipped = 0.05;   // of the range: there the loss falls too fast for a line
constexpr double kErrors = 4;       // so many standard errors are no chance in kGrid looks
constexpr double kLeast = 5e-4;     // of the loss: less is nobody's concern
constexpr int kInARow = 3;          // places of the grid that make a parting

const Record* with_curve(const Records& records) {
  for (const auto* record : records)
    if (record->measured.losses.size() >= 2) return record;
  return nullptr;
}

const Record* with_loss(const Records& records) {
  for (const auto* record : records)
    if (record->measured.last_loss && std::isfinite(*record->measured.last_loss)) return record;
  return nullptr;
}

// Where each point lies by tokens, as the log says or as its steps come to; nothing: nobody knows.
std::optional<Points> by_tokens(const Record& record) {
  const auto& losses = record.measured.losses;
  const bool said =
      std::all_of(losses.begin(), losses.end(), [](const LossPoint& p) { return p.tokens > 0; });
  const auto per_step = record::tokens_per_step(record);
  if (!said && !per_step) return std::nullopt;
  Points out;
  for (const auto& p : losses)
    out.push_back({said ? p.tokens : static_cast<double>(p.step) * *per_step, p.loss});
  return out;
}

Points by_steps(const Record& record) {
  Points out;
  for (const auto& p : record.measured.losses) out.push_back({static_cast<double>(p.step), p.loss});
  return out;
}

// In order, one for each place: the later one counts, as it does after a restart.
void put_in_order(Points& points) {
  std::erase_if(points, [](const CurvePoint& p) { return !std::isfinite(p.x + p.y); });
  const auto less = [](const CurvePoint& a, const CurvePoint& b) { return a.x < b.x; };
  if (!std::is_sorted(points.begin(), points.end(), less))
    std::stable_sort(points.begin(), points.end(), less);
  Points out;
  for (const auto& point : points) {
    if (!out.empty() && out.back().x == point.x) out.pop_back();
    out.push_back(point);
  }
  points = std::move(out);
}

// The part between two places, and one point more on each side, over 0 to 1.
Points part(const Points& points, double from, double to) {
  Points out;
  for (std::size_t i = 0; i < points.size(); ++i) {
    const bool starts_after = i + 1 < points.size() && points[i + 1].x <= from;
    const bool ended_before = i > 0 && points[i - 1].x >= to;
    if (!starts_after && !ended_before)
      out.push_back({(points[i].x - from) / (to - from), points[i].y});
  }
  return out;
}

struct Aligned {
  Points base, other;
};

// Both on one axis, or the reason why not in out.
std::optional<Aligned> align(const Record& base, const Record& other, bool same_steps,
                             Losses& out) {
  auto a = by_tokens(base), b = by_tokens(other);
  const bool tokens = a && b;
  out.axis = tokens ? "tokens" : "steps";
  if (!tokens && !same_steps) {
    out.why_not = a || b ? Losses::Why::tokens_of_one : Losses::Why::no_tokens;
    return std::nullopt;
  }
  Aligned both{tokens ? *a : by_steps(base), tokens ? *b : by_steps(other)};
  put_in_order(both.base);
  put_in_order(both.other);
  if (both.base.empty() || both.other.empty()) {
    out.why_not = Losses::Why::no_numbers;
    return std::nullopt;
  }
  out.base.from = both.base.front().x, out.base.to = both.base.back().x;
  out.other.from = both.other.front().x, out.other.to = both.other.back().x;
  out.from = std::max(out.base.from, out.other.from);
  out.to = std::min(out.base.to, out.other.to);
  if (out.from < out.to) return both;
  out.why_not = Losses::Why::nothing_in_common;
  return std::nullopt;
}

struct Curves {
  double window;
  Curve base, other;
};

// Smoothed where there are points enough; the ends then stand for the window next to them.
LossPlace look(const Curves& curves, double share, const Losses& losses) {
  const auto place = [&](double x) { return losses.from + x * (losses.to - losses.from); };
  const double centre = std::clamp(share, curves.window, 1 - curves.window);
  const auto a = curves.base.smooth(centre), b = curves.other.smooth(centre);
  if (a && b) return {share, place(centre), a->value, b->value, std::hypot(a->error, b->error)};
  return {
      share, place(share), curves.base.interpolated(share), curves.other.interpolated(share), {}};
}

bool apart(const LossPlace& place) {
  const double difference = std::abs(place.other - place.base);
  return place.error && difference > kErrors * *place.error &&
         difference > kLeast * std::abs(place.base);
}

void find_parting(const Curves& curves, Losses& out) {
  int in_a_row = 0;
  double first = 0;
  for (int i = 0; i < kGrid; ++i) {
    const double share = kSkipped + (1 - kSkipped) * i / (kGrid - 1);
    const auto place = look(curves, share, out);
    in_a_row = apart(place) ? in_a_row + 1 : 0;
    if (in_a_row == 1) first = place.at;
    if (in_a_row == kInARow && !out.apart_from) out.apart_from = first;
  }
  out.apart_at_end = in_a_row >= kInARow;
}

void compare_curves(const Record& a, const Record& b, bool same_steps, Losses& out) {
  const auto both = align(a, b, same_steps, out);
  if (!both) return;
  const auto base_points = part(both->base, out.from, out.to);
  const auto other_points = part(both->other, out.from, out.to);
  const auto fewer = static_cast<double>(std::min(base_points.size(), other_points.size()));
  const double window = std::clamp(kPointsAside / fewer, kWindow, kWidest);
  const Curves curves{window, Curve(base_points, window), Curve(other_points, window)};
  for (const double share : {0.1, 0.25, 0.5, 0.75, 1.0})
    out.places.push_back(look(curves, share, out));
  out.noise_known = std::all_of(out.places.begin(), out.places.end(),
                                [](const LossPlace& place) { return place.error.has_value(); });
  if (out.noise_known) find_parting(curves, out);
}

// Two losses without curves: they compare where both have come as far.
void compare_last(const Record& a, const Record& b, bool same_steps, Losses& out) {
  out.axis = "steps";
  if (!same_steps || a.measured.steps != b.measured.steps || a.measured.steps == 0) {
    out.why_not = Losses::Why::no_curve;
    return;
  }
  const auto step = static_cast<double>(a.measured.steps);
  out.from = out.to = step;
  out.places.push_back({1, step, *a.measured.last_loss, *b.measured.last_loss, {}});
}

std::vector<record::Spike> spikes_of(const Record* record) {
  if (record == nullptr) return {};
  if (!record->measured.spikes.empty()) return record->measured.spikes;
  return find_spikes(record->measured.losses, record->measured.resumes);
}

void add_side(const Record& record, Losses::Side& to) {
  to.id = record.id;
  to.nan = record::nan_text(record.measured);
  to.lost = record.failure == record::Failure::nan || record::lost_loss(record.measured);
}

}  // namespace

Losses compare_losses(const Records& base, const Records& other, bool same_steps) {
  Losses out;
  const auto *a = with_curve(base), *b = with_curve(other);
  out.base.spikes = spikes_of(a);
  out.other.spikes = spikes_of(b);
  const bool curves = a != nullptr && b != nullptr;
  if (!curves) a = with_loss(base), b = with_loss(other);
  if (a == nullptr || b == nullptr) return out;
  out.present = true;
  add_side(*a, out.base);
  add_side(*b, out.other);
  (curves ? compare_curves : compare_last)(*a, *b, same_steps, out);
  return out;
}

}  // namespace orch::compare
