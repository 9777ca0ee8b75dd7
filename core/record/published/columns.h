#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/record/published/row.h"

namespace orch::published {

using TextCell = std::string Row::*;
using CountCell = std::optional<std::int64_t> Row::*;
using RealCell = std::optional<double> Row::*;
using FlagCell = std::optional<bool> Row::*;

// A column of a table of measurements, and the member of a row that it fills.
struct Column {
  std::string name;
  std::string field;  // what Lua calls it; empty: it is no property of a run
  std::variant<TextCell, CountCell, RealCell, FlagCell> member;
  double min = 1, max = 1e9;            // of a number
  std::vector<std::string> words = {};  // of a text; none: any
};

const std::vector<Column>& columns();

// What is wrong with a cell, "" if nothing.
struct Flaw {
  std::string fact, fix;
  bool none() const { return fact.empty(); }
};

// Reads a cell that is not empty into its row.
Flaw read_cell(std::string_view cell, const Column& column, Row& row);
bool is_empty(const Column& column, const Row& row);
// As it would stand in a file; "" if it is empty.
std::string cell_text(const Column& column, const Row& row);

}  // namespace orch::published
