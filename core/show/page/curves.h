#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "core/show/page/charts.h"

namespace orch::page {

inline constexpr std::size_t kPoints = 400;  // of each curve

struct PlottedCurve {
  const PageLine* line = nullptr;
  std::vector<Chart::Place> points = {};
  std::vector<Chart::Place> resumes = {};
};
// Where the curve is at the step of each resume; steps: of each point.
void add_resumes(PlottedCurve& curve, const std::vector<double>& steps);

std::int64_t last_step(const record::Measurement& measured);
// The longest runs that have anything over their steps, at most eight, in the order of the page;
// and of how many.
std::pair<std::vector<const PageLine*>, std::size_t> longest(const ChartRuns& runs);
std::string of_how_many(std::size_t all);

struct CurveAxes {
  std::string along, level;
  double highest = 1e300;  // what is above ends at the edge
};
// In one panel, or in one each where they are far apart in length or height.
void draw_curves(Chart& chart, const ChartRuns& runs, const std::vector<PlottedCurve>& curves,
                 const CurveAxes& axes);
// Some points of each curve, the first and the last among them.
void add_data(Chart& chart, const std::vector<PlottedCurve>& curves);

}  // namespace orch::page
