#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/plan/fields.h"
#include "core/plan/run.h"

namespace orch::plan {

// One field of run.json that is a plain value of Run: its name, type, limits and default (param),
// its section, and the member that stores it. A field that run.json omits has its default; if the
// default is outside its limits, the field is required.
struct RunField {
  std::string_view section;  // "": at the top; rampup, model, job
  Param param;
  std::variant<bool& (*)(Run&), std::int64_t& (*)(Run&), double& (*)(Run&), std::string& (*)(Run&),
               Field>  // a size of the model
      at;
  bool only_if_given = false;  // omitted if it has its default

  // The model size that the field stores, if it is one.
  const Field* size() const { return std::get_if<Field>(&at); }

  std::string path() const;  // "model.layers"
};

// All of them in the document's order: the functions that write, read and name a run use this
// table. Not in it: the fields of strategy and cluster, settings, training and the job's lists.
const std::vector<RunField>& run_fields();

Value get(const Run& run, const RunField& field);
void set(Run& run, const RunField& field, const Value& conformed);

}  // namespace orch::plan
