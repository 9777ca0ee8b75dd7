#pragma once

#include <concepts>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/result.h"

namespace orch {

// One record of a CSV file; a quoted cell may span several lines.
struct CsvRecord {
  std::size_t line = 0;  // the line on which it begins, from 1
  std::vector<std::string> cells;
};

struct Csv {
  std::vector<std::string> header;
  std::vector<CsvRecord> records;  // each as long as the header

  int column(std::string_view name) const;  // -1 if there is no such column
};

// Parses RFC 4180 with the deviations that are common in practice: LF, CRLF or CR, a byte order
// mark, empty lines. file is for messages. Every problem is reported with its line; a string that
// is not UTF-8 or has no header is an error.
Result<Csv> parse_csv(std::string_view text, const std::string& file);

// The value of a cell: a string, a number or nothing.
class CsvCell {
 public:
  CsvCell() = default;
  CsvCell(std::string text) : text_(std::move(text)) {}
  CsvCell(std::string_view text) : text_(text) {}
  CsvCell(const char* text) : text_(text) {}
  template <std::integral T>
  CsvCell(T number) : text_(std::to_string(number)) {}
  CsvCell(bool flag) : text_(flag ? "true" : "false") {}
  // digits: number of significant digits; 0: as many as are needed to read the same number back. A
  // number that is not finite gives an empty cell.
  CsvCell(std::optional<double> number, int digits = 0);
  CsvCell(double number, int digits = 0) : CsvCell(std::optional(number), digits) {}

  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

// Writes a table whose first row is the header. A row is one line, with control characters as \xNN.
// No spreadsheet takes a cell for a formula: a string that looks like one gets a leading
// apostrophe, which parse_csv removes again.
class CsvWriter {
 public:
  CsvWriter() = default;
  // With a header of plain names: "id,state,loss".
  explicit CsvWriter(std::string_view names);

  void row(const std::vector<CsvCell>& cells);  // as many cells as the header has
  const std::string& text() const { return text_; }

 private:
  std::size_t columns_ = 0;
  std::string text_;
};

// "file:12", or "file:12: column".
std::string csv_place(const std::string& file, std::size_t line, std::string_view column = {});

// Cuts the list to `most` errors and adds one that counts the rest.
void keep_first(Errors& errors, std::size_t most, const std::string& file);

}  // namespace orch
