#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace orch::record {

// A name and its value, as written, but without quotation marks.
using NamedText = std::pair<std::string, std::string_view>;

// Visits the values of an object that ends the line, as JSON or Python write it: {"loss": 2.5,
// 'lr': 1e-4}. Names of a nested object are prefixed with its own: "train/loss"; lists are left
// out. The strings are valid only during the visit. False if there is no valid object; some values
// may have been visited by then.
using VisitText = std::function<void(std::string_view name, std::string_view value)>;
bool each_value(std::string_view line, const VisitText& visit);
bool read_object(std::string_view line, std::vector<NamedText>& out);

// The cells of a line of CSV, without quotation marks.
void split_cells(std::string_view line, std::vector<std::string_view>& out);

// The beginning of a string, printable and limited to `most` bytes, with "…" where it was cut;
// never in the middle of a UTF-8 character.
std::string shortened(std::string_view text, std::size_t most);

}  // namespace orch::record
