#pragma once

#include <string>
#include <vector>

#include "core/cli/commands.h"
#include "core/cli/gather.h"

namespace orch::cli {

GatherOptions gather_options(const RecordArguments& arguments);

// Prints the text, or writes it to the file that was asked for, whole or not at all; never over one
// of the inputs.
Ending put_out(const std::string& text, const std::string& file,
               const std::vector<std::string>& inputs, Console& console);
Status check_output(const std::string& file, const std::vector<std::string>& inputs);

// What was passed over and what could not be read.
void tell_passed(const Gatherer& gatherer, Console& console);

}  // namespace orch::cli
