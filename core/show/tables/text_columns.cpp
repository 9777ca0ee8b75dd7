#include "core/show/tables/text_columns.h"

#include <algorithm>
#include <span>

#include "core/base/text.h"

namespace orch::tables {
namespace {

bool is_blank(const TextColumn& column) {
  return std::all_of(column.texts.begin() + 1, column.texts.end(),
                     [](const auto& text) { return text.empty(); });
}

std::size_t width_of(std::span<const TextColumn> columns) {
  std::size_t width = 0;
  for (const auto& column : columns) {
    std::size_t widest = 0;
    for (const auto& cell : column.texts) widest = std::max(widest, display_width(cell));
    width += widest + 2;
  }
  return width;
}

}  // namespace

std::vector<std::vector<std::string>> fitting_rows(std::vector<TextColumn> columns,
                                                   const Screen& screen) {
  std::erase_if(columns, is_blank);
  while (screen.width > 0 && !columns.empty()) {
    const auto beside = columns.size() - (columns.back().rank == 0 ? 1 : 0);
    if (width_of(std::span(columns).first(beside)) <= screen.width + 2) break;
    const auto least = std::max_element(columns.begin(), columns.end(),
                                        [](auto& a, auto& b) { return a.rank < b.rank; });
    if (least->rank == 0) break;
    columns.erase(least);
  }
  std::vector<std::vector<std::string>> rows(columns.empty() ? 0 : columns[0].texts.size());
  for (auto& column : columns)
    for (std::size_t r = 0; r < rows.size(); ++r) rows[r].push_back(std::move(column.texts[r]));
  return rows;
}

}  // namespace orch::tables
