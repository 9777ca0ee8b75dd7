#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "core/show/page/charts.h"

namespace orch::page {

inline constexpr std::size_t kPoints = 400;  // most points of a curve

struct PlottedCurve {
  const PageLine* line = nullptr;
  std::vector<Chart::Place> points = {};
  std::vector<Chart::Place> resumes = {};
};
// Adds the place on the curve of each step at which the run resumed. steps: the step of each point.
void add_resumes(PlottedCurve& curve, const std::vector<double>& steps);

std::int64_t last_step(const record::Measurement& measured);
// The longest runs that have values per step, at most eight, in the order of the page; and the
// total number of such runs.
std::pair<std::vector<const PageLine*>, std::size_t> longest(const ChartRuns& runs);
std::string of_how_many(std::size_t all);

struct CurveAxes {
  std::string along, level;
  double highest = 1e300;  // values above it are drawn at the edge
};
// Draws all curves in one panel, or each in its own if their lengths or heights differ widely.
void draw_curves(Chart& chart, const ChartRuns& runs, const std::vector<PlottedCurve>& curves,
                 const CurveAxes& axes);
// Adds a sample of the points of each curve to the data table, including the first and the last.
void add_data(Chart& chart, const std::vector<PlottedCurve>& curves);

}  // namespace orch::page
