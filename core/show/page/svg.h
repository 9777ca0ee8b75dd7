#pragma once

#include <string>

#include "core/show/chart.h"

namespace orch::page {

// Any chart as a picture of its own, which follows the reader's light or dark mode. Its marks have
// their tooltips as titles. Of charts that can stand in its place nothing is drawn.
std::string svg_of(const show::Chart& chart);

}  // namespace orch::page
