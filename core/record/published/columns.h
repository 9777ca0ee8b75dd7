#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/result.h"
#include "core/record/record.h"

namespace orch::published {

enum class Cell { text, date, count, real, flag };

// A column of a table of measurements: another name of something that a record holds as its source
// says it (said.h).
struct Column {
  std::string field;  // of the record; empty: get and put know where it is
  Cell type = Cell::text;
  double min = 1, max = 1e9;            // of a number
  std::vector<std::string> words = {};  // of a string; none: any
  bool of_run = true;                   // it says something of what was run
  plan::Value (*get)(const record::Record&) = nullptr;
  void (*put)(record::Record&, const plan::Value&) = nullptr;
  std::string name = "";  // in tables; empty: as plan::vocabulary() has it
};

const std::vector<Column>& columns();

// What is wrong with a cell, "" if nothing.
struct Flaw {
  std::string fact, fix;
  bool none() const { return fact.empty(); }
};

// Reads a cell that is not empty into its record.
Flaw read_cell(std::string_view cell, const Column& column, record::Record& record);
// Not given: the cell is empty.
plan::Value value_of(const Column& column, const record::Record& record);
// As it would stand in a file; "" if it is empty.
std::string cell_text(const Column& column, const record::Record& record);

// Sets a cell by its column ("tp") or its field ("tensor_parallel"); a wrong name or value is an
// error with a suggestion. Given cells are replaced.
Status set_cell(record::Record& record, std::string_view name, std::string_view value);

// The cells that are not empty: their columns' names and the texts of a file.
std::vector<std::pair<std::string, std::string>> cells_of(const record::Record& record);

}  // namespace orch::published
