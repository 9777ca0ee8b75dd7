#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "core/base/result.h"

namespace orch::measured {

// One line of a CSV file; a quoted cell may go on over several.
struct CsvRecord {
  std::size_t line = 0;  // on which it begins, from 1
  std::vector<std::string> cells;
};

struct Csv {
  std::vector<std::string> header;
  std::vector<CsvRecord> records;  // each as long as the header

  int column(std::string_view name) const;  // -1 if there is none
};

// RFC 4180, with the freedoms that programs take: LF, CRLF or CR, a byte order mark, empty lines.
// file is for messages. Every problem is told, each with its line; a text that is not UTF-8 or has
// no header is one.
Result<Csv> parse_csv(std::string_view text, const std::string& file);

// A cell as CSV wants it: quoted where it must be.
std::string csv_cell(std::string_view text);

// A text that no spreadsheet takes for a formula.
std::string inert(std::string text);

// "file:12", or "file:12: column".
std::string csv_place(const std::string& file, std::size_t line, std::string_view column = {});

// Many errors of one kind say no more than a few: the rest is counted.
void keep_first(Errors& errors, std::size_t most, const std::string& file);

}  // namespace orch::measured
