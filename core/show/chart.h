#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/show/screen.h"

namespace orch::show {

// A chart. It contains everything that is drawn, in the units of its axes and with every text
// ready: a script in the page and an SVG writer draw any chart and know nothing about runs.
struct Chart {
  using Place = std::pair<double, double>;  // x and y

  enum class Kind { points, bars, lines, grid };

  struct Axis {
    std::string title = {};  // including its unit
    double low = 0, high = 1;
    std::vector<std::pair<double, std::string>> ticks = {};
    bool is_log = false;
  };
  // Instead of a y axis: y is the index of a row, from the top, 0, 1, 2 and so on.
  struct Row {
    std::string label = {};  // empty: belongs to the row above
    std::string kind = {};   // "measured", in small letters before the row
    std::string end = {};    // "12.3 s", in small letters behind the row
  };
  struct Mark {
    double x = 0, y = 0;
    std::optional<double> low = {}, high = {};  // limits on the value axis; the ends of a bar
    std::size_t look = 0;                 // colour, shape, dashes or pattern; the same for a series
    std::optional<std::size_t> run = {};  // index of its run
    bool is_hollow = false, is_doubtful = false, is_faint = false;
    std::string tooltip = {};
    std::string words = {};                 // text in a cell
    std::optional<std::size_t> shade = {};  // shade of a cell, 0 is the best; none: crossed out
    bool is_best = false, is_bold = false;  // for cells
    std::vector<Place> line = {};           // points of a curve
    std::vector<Place> resumes = {};        // points on the curve where the run resumed
  };
  struct Rule {
    std::string kind;  // line, exact, tenth, limit, ground
    std::vector<Place> line;
    std::size_t look = 0;    // style of a line
    bool is_hollow = false;  // dashed
    std::string tooltip = {};
  };
  // A frame with its own axes.
  struct Panel {
    std::string title = {};
    Axis x = {}, y = {};
    std::vector<Row> rows = {};
    std::vector<Rule> rules = {};
    std::vector<Mark> marks = {};
    bool is_square = false;  // both axes have the same length
  };
  struct Sample {
    std::string kind;  // series, filled, hollow, doubtful, limit, curve, resume, bar, cell, exact …
    std::size_t look = 0;
    std::string words = {};
    std::string below = {};  // in small letters
  };

  Kind kind = Kind::points;
  std::string name = {}, title = {};
  std::string finding = {}, note = {};  // sentence above, and sentence below
  std::vector<Panel> panels = {};
  std::vector<Sample> legend = {};
  TextRows data = {};  // the numbers as strings; the first row is the header

  // Alternative charts: for each question the answer that selects one.
  std::vector<std::string> questions = {};
  std::vector<std::string> answers = {};  // the answers for this chart
  std::vector<Chart> others = {};
};

}  // namespace orch::show
