#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/show/page/columns.h"
#include "core/show/page/page.h"

// What pictures share.
namespace orch::page {

inline constexpr std::size_t kMostSeries = 7;  // as many as there are colours
inline constexpr double kPictureWidth = 900;

// Runs with days and GPUs that count for speed, of one strategy and model; never empty.
struct Series {
  std::string name;
  std::vector<const Line*> lines;  // the best first
};

double gpus_of(const Line& line);  // 0: not known

// The logarithm of an interval, with a margin in decades on both sides, on a stretch of the picture.
class LogScale {
 public:
  LogScale(double low, double high, double margin, double from, double to);
  double operator()(double value) const;
  double lowest() const;
  double highest() const;
  std::vector<double> ticks() const;  // 1, 2 and 5 of each decade

 private:
  double low_, high_, from_, to_;  // decimal logarithms, and their places
};

// The beginning: a heading, and a line in small letters below it.
std::string picture_head(std::string_view title, std::string_view heading, std::string_view below,
                         double height, double left = 24);
// Of days: with the page's title, and what marks mean.
std::string picture_head(const Page& page, std::string_view heading, double height);
// Lines of a grid with their values: across the picture, and upright in it.
std::string line_across(double y, double left, double right, const std::string& value);
std::string line_upright(double x, double top, double bottom, double value);
std::string axis_label(double x, double y, std::string_view words);
std::string legend_entry(double x, double y, std::size_t place, std::string_view name,
                         std::size_t longest = 28);
std::string_view series_colour(std::size_t place);  // of as many as there are, in turn
std::string colour_group(std::size_t place);        // opens it; "</g>" ends it

// The marks of a run at a place: hollow for the estimate, filled for what was measured.
std::string picture_mark(double x, double y, std::size_t place, const Line& line, bool measured);

// With a note in small letters at the bottom.
std::string picture_by_gpus(const Page& page, const std::vector<Series>& all,
                            const std::string& note);
std::string picture_ranking(const Page& page, const std::vector<Series>& all,
                            const std::string& note);
std::string picture_foot(const std::string& note, double height);

}  // namespace orch::page
