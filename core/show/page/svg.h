#pragma once

#include <string>

#include "core/show/chart.h"

namespace orch::page {

// A chart as a self-contained SVG that follows the reader's light or dark mode. Tooltips become
// <title> elements of the marks. The alternatives of a chart (`others`) are not drawn.
std::string svg_of(const show::Chart& chart);

}  // namespace orch::page
