#pragma once

#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>

#include "core/record/published/columns.h"
#include "core/record/published/said.h"

// A cell of a row by the name of its column, without the column's checks: cell(row, "tp") = 8.
namespace orch::published {

using record::Record;

class RowCell {
 public:
  RowCell(Record& row, std::string_view name) : row_(row), name_(name) {}

  template <class T>
  T operator=(T value) {  // NOLINT: a row of cells is set to one value from right to left
    const auto& column = find();
    if constexpr (std::is_convertible_v<T, std::string>) {
      put(column, std::string(value));
      if (std::string(value).empty()) reset();
    } else if (column.type == CellKind::flag) {
      put(column, static_cast<bool>(value));
    } else if (column.type == CellKind::real) {
      put(column, static_cast<double>(value));
    } else {
      put(column, static_cast<std::int64_t>(value));
    }
    return value;
  }

  void reset() {
    auto& measured = row_.measured;
    const auto& column = find();
    if (!column.field.empty()) row_.set(column.field, {});
    if (name_ == "step_time_s") measured.step_seconds.reset();
    if (name_ == "samples_per_s") measured.samples_per_second.reset();
    if (name_ == "tflops_per_gpu" && !measured.tflops.empty()) measured.tflops.front().value = 0;
    if (name_ == "days_per_100b_tokens") measured.days_per_100b_tokens.reset();
    if (name_ == "mem_gb") measured.peak_memory_bytes.reset();
    if (name_ == "status") row_.state = record::RunState::planned, row_.failure = {};
    if (name_ == "date") row_.origin.date.clear();
  }

 private:
  const PublishedColumn& find() const {
    for (const auto& column : columns())
      if (column.name == name_) return column;
    throw std::invalid_argument("no column " + name_);
  }
  void put(const PublishedColumn& column, const plan::Value& value) {
    if (column.put != nullptr)
      column.put(row_, value);
    else
      row_.set(column.field, value);
  }

  Record& row_;
  std::string name_;
};

inline RowCell cell(Record& row, std::string_view name) { return {row, name}; }

}  // namespace orch::published
