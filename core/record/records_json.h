#pragma once

#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/record/record.h"

namespace orch::record {

// {"version":1,"records":[{"id":…,"strategy":…,"tensor_parallel":4,…,"measured":{…},
// "estimated":{…},"doubts":[…]}]}: the fields of a run beside its measurement. Unknown values are
// missing. Bytes that are not UTF-8 are replaced.
std::string records_json(const std::vector<Record>& records);

// Parses it; place is the file, for messages. Unknown keys become fields of the run if they hold a
// number, a string or a boolean, and are skipped otherwise.
Result<std::vector<Record>> parse_records_json(const std::string& text, const std::string& place);

}  // namespace orch::record
