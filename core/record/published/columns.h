#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/result.h"
#include "core/record/record.h"

namespace orch::published {

enum class CellKind { text, date, count, real, flag };

// A column of a table of measurements: another name for something that a record contains, as its
// source stated it (said.h).
struct PublishedColumn {
  std::string field;  // field of the record; empty: get and put access it
  CellKind type = CellKind::text;
  double min = 1, max = 1e9;            // limits of a number
  std::vector<std::string> words = {};  // allowed strings; empty: any
  bool of_run = true;                   // it is about the run, not about the row
  plan::Value (*get)(const record::Record&) = nullptr;
  void (*put)(record::Record&, const plan::Value&) = nullptr;
  std::string name = "";  // title in tables; empty: as in plan::vocabulary()
};

const std::vector<PublishedColumn>& columns();

// The problem of a cell, "" if there is none.
struct CellError {
  std::string fact, fix;
  bool none() const { return fact.empty(); }
};

// Reads a non-empty cell into its record.
CellError read_cell(std::string_view cell, const PublishedColumn& column, record::Record& record);
// "Not given" for an empty cell.
plan::Value value_of(const PublishedColumn& column, const record::Record& record);
// The cell's text for a file; "" if it is empty.
std::string cell_text(const PublishedColumn& column, const record::Record& record);

// Sets a cell by its column ("tp") or its field ("tensor_parallel"); an unknown name or a wrong
// value is an error with a suggestion. An existing value is replaced.
Status set_cell(record::Record& record, std::string_view name, std::string_view value);

// The non-empty cells: names of columns and texts for a file.
std::vector<std::pair<std::string, std::string>> cells_of(const record::Record& record);

}  // namespace orch::published
