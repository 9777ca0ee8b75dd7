#pragma once

#include <functional>
#include <string>
#include <vector>

#include "core/app/gather.h"

namespace orch::app {

// Prints the text, or writes it to the file that was asked for, whole or not at all; never over one
// of the inputs.
Ending put_out(const std::string& text, const std::string& file,
               const std::vector<std::string>& inputs, Console& console);
Status check_output(const std::string& file, const std::vector<std::string>& inputs);

// The records of all words together, or all their errors.
using FindRecords = std::function<Result<std::vector<record::Record>>(const std::string& word)>;
Result<std::vector<record::Record>> all_of(const std::vector<std::string>& words,
                                           const FindRecords& find);

// Those that a gatherer finds, with what it passed over told.
Result<std::vector<record::Record>> find_all(Gatherer& gatherer,
                                             const std::vector<std::string>& words,
                                             Console& console);

// What was passed over and what could not be read.
void tell_passed(const Gatherer& gatherer, Console& console);

}  // namespace orch::app
