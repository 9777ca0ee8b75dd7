#include <algorithm>

#include "core/show/tables/columns.h"

namespace orch::tables {
namespace {

bool is_blank(const Filled& column) {
  return std::all_of(column.texts.begin() + 1, column.texts.end(),
                     [](const auto& text) { return text.empty(); });
}

std::size_t width_of(const std::vector<Filled>& columns) {
  std::size_t width = 0;
  for (const auto& column : columns) {
    std::size_t widest = 0;
    for (const auto& cell : column.texts) widest = std::max(widest, display_width(cell));
    width += column.rank == kBelow ? 0 : widest + 2;
  }
  return width;
}

}  // namespace

Rows fitting_rows(std::vector<Filled> columns, const Screen& screen) {
  std::erase_if(columns, is_blank);
  while (screen.width > 0 && width_of(columns) > screen.width + 2) {
    const auto least = std::max_element(columns.begin(), columns.end(),
                                        [](auto& a, auto& b) { return a.rank < b.rank; });
    if (least->rank <= 0) break;
    columns.erase(least);
  }
  Rows rows(columns.empty() ? 0 : columns[0].texts.size());
  for (auto& column : columns)
    for (std::size_t r = 0; r < rows.size(); ++r) rows[r].push_back(std::move(column.texts[r]));
  return rows;
}

}  // namespace orch::tables
