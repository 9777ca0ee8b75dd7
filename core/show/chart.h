#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/show/screen.h"

namespace orch::show {

// A picture of numbers. It holds all that is drawn, in the units of its axes and with every text
// ready: a script in the page and one writer of SVG draw any chart and know nothing of runs.
struct Chart {
  using Place = std::pair<double, double>;  // on both axes

  enum class Kind { points, bars, lines, grid };

  struct Axis {
    std::string title = {};  // with its unit
    double low = 0, high = 1;
    std::vector<std::pair<double, std::string>> ticks = {};
    bool is_log = false;
  };
  // Instead of a y axis, where each y is a row: from the top, 0, 1, 2 and so on.
  struct Row {
    std::string label = {};  // empty: the row belongs to the one above
    std::string kind = {};   // "measured", in small letters before it
    std::string end = {};    // "12.3 s", in small letters behind it
  };
  struct Mark {
    double x = 0, y = 0;
    std::optional<double> low = {},
                          high = {};      // limits on the axis of the value; the ends of a bar
    std::size_t look = 0;                 // colour, shape, dashes or pattern: the same in a series
    std::optional<std::size_t> run = {};  // that it belongs to
    bool is_hollow = false, is_doubtful = false, is_faint = false;
    std::string tooltip = {};
    std::string words = {};                 // in a cell
    std::optional<std::size_t> shade = {};  // of a cell, 0 is the best; none: crossed out
    bool is_best = false, is_bold = false;  // of a cell
    std::vector<Place> line = {};           // of a curve
    std::vector<Place> resumes = {};        // on the curve
  };
  struct Rule {
    std::string kind;  // line, exact, tenth, limit, ground
    std::vector<Place> line;
    std::size_t look = 0;    // of a line
    bool is_hollow = false;  // dashed
    std::string tooltip = {};
  };
  // A frame with axes of its own.
  struct Panel {
    std::string title = {};
    Axis x = {}, y = {};
    std::vector<Row> rows = {};
    std::vector<Rule> rules = {};
    std::vector<Mark> marks = {};
    bool is_square = false;  // both axes are of one length
  };
  struct Sample {
    std::string kind;  // series, filled, hollow, doubtful, limit, curve, resume, bar, cell, exact …
    std::size_t look = 0;
    std::string words = {};
    std::string below = {};  // in small letters
  };

  Kind kind = Kind::points;
  std::string name = {}, title = {};
  std::string finding = {}, note = {};  // sentences above and below
  std::vector<Panel> panels = {};
  std::vector<Sample> legend = {};
  Rows data = {};  // the numbers as texts; the first row is the head

  // Other charts that can stand in its place: for each question the answer that leads to one.
  std::vector<std::string> questions = {};
  std::vector<std::string> answers = {};  // of this one
  std::vector<Chart> others = {};
};

}  // namespace orch::show
