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
// the section it stands in, and where it lives. What a run.json does not say is as by default; a
// default that is out of its limits must be said.
struct RunField {
  std::string_view section;  // "": at the top; rampup, model, job
  Param param;
  std::variant<bool& (*)(Run&), std::int64_t& (*)(Run&), double& (*)(Run&), std::string& (*)(Run&),
               Field>  // a size of the model
      at;
  bool only_if_given = false;  // written where it is not as by default

  // The size of the model that it is, if it is one.
  const Field* size() const { return std::get_if<Field>(&at); }

  std::string path() const;  // "model.layers"
};

// All of them in the document's order: writing, reading and naming a run go through this table. Not
// in it: what belongs to the strategy and the cluster, settings, training and the job's lists.
const std::vector<RunField>& run_fields();

Value get(const Run& run, const RunField& field);
void set(Run& run, const RunField& field, const Value& conformed);

}  // namespace orch::plan
