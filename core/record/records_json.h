#pragma once

#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/record/record.h"

namespace orch::record {

// {"version":1,"records":[{"id":…,"strategy":…,"tensor_parallel":4,…,"measured":{…},
// "estimated":{…},"doubts":[…]}]}: the fields of a run beside what was measured of it. What is not
// known is missing. Bytes that are no UTF-8 are replaced.
std::string records_json(const std::vector<Record>& records);

// Back from it; place is the file, for messages. Keys that it does not know are fields of the run
// where they hold a number, a string or a truth, and skipped elsewhere.
Result<std::vector<Record>> parse_records_json(const std::string& text, const std::string& place);

}  // namespace orch::record
