#pragma once

#include <string>
#include <string_view>

namespace orch::ingest {

// Whether a block of text has nothing to clean: no escape codes, carriage returns or NUL bytes.
bool is_clean(std::string_view block);

// Takes escape codes of terminals (colours, cursor, titles) and NUL bytes out of a line.
void clean_line(std::string_view line, std::string& out);

}  // namespace orch::ingest
