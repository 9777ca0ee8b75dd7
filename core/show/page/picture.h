#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "core/show/page/page.h"

// What pictures share.
namespace orch::page {

inline constexpr double kPictureWidth = 900;

// The colours of Okabe and Ito, told apart by most eyes, without black and with a lighter blue:
// they show on light and on dark.
inline constexpr std::array kColours{"#2e86c1", "#e69f00", "#009e73", "#cc79a7",
                                     "#d55e00", "#56b4e9", "#8a8a8a"};

// The logarithm of an interval, with a margin in decades on both sides, on a stretch of the
// picture.
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
// Lines of a grid with their values: across the picture, and upright in it.
std::string line_across(double y, double left, double right, const std::string& value);
std::string line_upright(double x, double top, double bottom, double value);
std::string axis_label(double x, double y, std::string_view words);

}  // namespace orch::page
