#include "core/show/compare/losses.h"

#include <algorithm>
#include <cmath>

#include "core/record/quantities.h"
#include "core/record/record.h"
#include "core/show/compare/curve.h"
#include "core/show/compare/spikes.h"

namespace orch::compare {
namespace {

using record::LossPoint;
using record::Record;
using RecordPointers = std::vector<const Record*>;
using Points = std::vector<CurvePoint>;

constexpr double kWindow = 0.025;   // smallest half-width of the window, as a share of the range
constexpr double kWidest = 0.1;     // largest half-width
constexpr double kPointsAside = 6;  // points that a half window should have
constexpr int kGrid = 96;           // places that are compared, from kSkipped to the end
constexpr double kSkipped = 0.05;   // share of the range where the loss falls too fast for a line
constexpr double kErrors = 4;       // standard errors that kGrid comparisons do not reach by chance
constexpr double kLeast = 5e-4;     // relative difference in loss below which curves are equal
constexpr int kInARow = 3;          // consecutive places that have to differ

const Record* with_curve(const RecordPointers& records) {
  for (const auto* record : records)
    if (record->measured.losses.size() >= 2) return record;
  return nullptr;
}

const Record* with_loss(const RecordPointers& records) {
  for (const auto* record : records)
    if (record->measured.last_loss && std::isfinite(*record->measured.last_loss)) return record;
  return nullptr;
}

// The curve over tokens, as logged or computed from steps; empty if tokens per step are unknown.
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

// Sorts by place and keeps one point for each: the last one, as steps repeat after a restart.
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

// The points from one place to another, and one more on each side, scaled to 0 to 1.
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

struct AlignedCurves {
  Points base, other;
};

// Both curves on one axis; if they cannot be aligned, sets out.why_not.
std::optional<AlignedCurves> align(const Record& base, const Record& other, bool same_steps,
                                   Losses& out) {
  auto a = by_tokens(base), b = by_tokens(other);
  const bool tokens = a && b;
  out.axis = tokens ? "tokens" : "steps";
  if (!tokens && !same_steps) {
    out.why_not =
        a || b ? Losses::AlignmentResult::tokens_of_one : Losses::AlignmentResult::no_tokens;
    return std::nullopt;
  }
  AlignedCurves both{tokens ? *a : by_steps(base), tokens ? *b : by_steps(other)};
  put_in_order(both.base);
  put_in_order(both.other);
  if (both.base.empty() || both.other.empty()) {
    out.why_not = Losses::AlignmentResult::no_numbers;
    return std::nullopt;
  }
  out.base.from = both.base.front().x, out.base.to = both.base.back().x;
  out.other.from = both.other.front().x, out.other.to = both.other.back().x;
  out.from = std::max(out.base.from, out.other.from);
  out.to = std::min(out.base.to, out.other.to);
  if (out.from < out.to) return both;
  out.why_not = Losses::AlignmentResult::nothing_in_common;
  return std::nullopt;
}

struct Curves {
  double window;
  Curve base, other;
};

// The values at a share of the range. If there are enough points they are smoothed, and the window
// is moved to lie within the range.
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

// Compares the last losses of records without curves, if both ended at the same step.
void compare_last(const Record& a, const Record& b, bool same_steps, Losses& out) {
  out.axis = "steps";
  if (!same_steps || a.measured.steps != b.measured.steps || a.measured.steps == 0) {
    out.why_not = Losses::AlignmentResult::no_curve;
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

Losses compare_losses(const RecordPointers& base, const RecordPointers& other, bool same_steps) {
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
