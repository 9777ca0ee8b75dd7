#include <fmt/format.h>

#include <set>

#include "core/show/page/page.h"
#include "core/show/page/picture.h"

namespace orch::page {

std::string svg(const Page& page) {
  const auto lines = lines_of(page.records);
  const auto all = series_of(lines);
  const auto left = left_out(lines);
  if (all.empty())
    return picture_head(page, "Days per 100B tokens", 120) +
           fmt::format("<text x=\"24\" y=\"90\">{}</text>\n</svg>\n",
                       left.empty() ? "no run has days per 100B tokens and a number of GPUs"
                                    : "no run is left to show; " + left);
  std::set<double> gpus;
  for (const auto& series : all)
    for (const auto* line : series.lines) gpus.insert(gpus_of(*line));
  return gpus.size() > 1 ? picture_by_gpus(page, all, left) : picture_ranking(page, all, left);
}

}  // namespace orch::page
