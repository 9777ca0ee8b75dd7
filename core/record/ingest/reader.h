#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"

namespace orch::ingest {

// A line of a log without its line ending, escape codes and NUL bytes.
struct LogLine {
  std::string_view text;
  std::uint64_t number = 0;  // from 1
  bool whole = true;         // false: the file ends in it
};

struct ReadOptions {
  std::size_t block = std::size_t{512} << 10;
  std::size_t longest_line = std::size_t{256} << 10;  // the rest of a longer line is skipped
  std::function<bool()> interrupted;
  std::function<void(std::uint64_t bytes)> progress;
};

struct ReadResult {
  std::uint64_t bytes = 0, lines = 0;
  std::string not_text;  // why the file is not a log; its rest was not read
  bool interrupted = false;
};

// Reads an open file to its end, block by block, and calls take with every line. A carriage return,
// as progress bars print it, also ends a line, but does not increase the line number. The only
// errors are those of reading the file.
Result<ReadResult> read_lines(int file, const std::string& name, const ReadOptions& options,
                              const std::function<void(const LogLine&)>& take);

// True if a block of text has no escape codes, carriage returns or NUL bytes.
bool is_clean(std::string_view block);

// Copies a line without escape codes of terminals (colours, cursor, titles) and NUL bytes.
void clean_line(std::string_view line, std::string& out);

}  // namespace orch::ingest
