#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/result.h"
#include "core/record/published/row.h"
#include "core/record/record.h"

namespace orch::published {

// What a row says of a run, by the names that Lua has for it: tp is tensor_parallel. Measured cells
// are not among them. The framework is the field strategy.
std::vector<record::Field> fields_of(const Row& row);

// What a row says was measured.
void add_measurement(const Row& row, record::Record& record);

// Adds the TFLOPs per GPU that follow from a record's step time and its row's sizes, by the
// megatron convention, unless the record has them stated by it or something is not known.
void add_tflops(const Row& row, record::Record& record);

// A row as a record of a table: fields, measurement, state, origin.
record::Record record_of(const Row& row);

// Sets a cell by its column ("tp") or its field ("tensor_parallel"); a wrong name or value is an
// error with a suggestion. Given cells are replaced.
Status set_cell(Row& row, std::string_view name, std::string_view value);

// The cells of a row that are not empty: its columns' names and the texts of a file.
std::vector<std::pair<std::string, std::string>> cells_of(const Row& row);

// Rows in the schema that parse_rows reads, with a header.
std::string rows_csv(const std::vector<Row>& rows);

}  // namespace orch::published
