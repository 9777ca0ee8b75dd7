#pragma once

#include <string>
#include <vector>

#include "core/app/commands.h"
#include "core/app/gather.h"

namespace orch::app {

GatherOptions gather_options(const RecordArguments& arguments);

// Prints the text, or writes it to the file that was asked for, whole or not at all; never over one
// of the inputs.
Ending put_out(const std::string& text, const std::string& file,
               const std::vector<std::string>& inputs, Console& console);
Status check_output(const std::string& file, const std::vector<std::string>& inputs);

// What was passed over and what could not be read.
void tell_passed(const Gatherer& gatherer, Console& console);

}  // namespace orch::app
