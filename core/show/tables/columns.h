#pragma once

#include <string>

#include "core/record/quantities.h"
#include "core/show/answer.h"
#include "core/show/tables/words.h"

namespace orch::tables {

// For programs: each quantity as measured, and as "estimated_…".
template <class Row, class Of>  // Of: returns const record::Record& for a const Row&
void add_quantities(show::Columns<Row>& to, Of record_of) {
  using Read = record::Quantity::Value (*)(const record::Quantity&, const record::Record&);
  const auto add = [&](const record::Quantity& quantity, const std::string& prefix, Read read) {
    auto& column =
        to.add(prefix + std::string(quantity.name), [&quantity, read, record_of](const Row& row) {
          return quantity_cell(quantity, read(quantity, record_of(row)));
        });
    if (!quantity.range.empty()) column.range = prefix + std::string(quantity.range);
  };
  for (const auto& quantity : record::quantities()) {
    if (!quantity.planned) add(quantity, "", record::measured);
    if (quantity.estimated) add(quantity, "estimated_", record::estimated);
  }
}

}  // namespace orch::tables
