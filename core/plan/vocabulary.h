#pragma once

#include <string_view>
#include <vector>

#include "core/plan/run.h"
#include "core/plan/value.h"

namespace orch::plan {

// What can be another one where two runs differ in a field.
struct Changes {
  bool speed = false, memory = false, loss = false;
  bool any() const { return speed || memory || loss; }
};

// A field of a run by its one name: in Lua, JSON, CSV, --where, tables and the page.
struct Term {
  std::string_view name;     // tensor_parallel
  std::string_view head;     // of a column: "TP"
  std::string_view meaning;  // "tensor-parallel ranks"
  std::string_view alias;    // what tables of measurements call it: "tp"; empty: the same
  Changes changes;
  // Null: only logs, tables or a strategy's settings say it. Gives no value where a run has no such
  // field.
  Value (*read)(const Run&) = nullptr;
  bool planned = false;  // of a plan only: a record of what happened does not repeat it
};

// All of them, in the order in which people look at them. A strategy's own parameters and the
// fields of training come after these, by their own names.
const std::vector<Term>& vocabulary();
const Term* find_term(std::string_view name);
// The model's name, its parameters, one of its sizes.
bool is_of_model(std::string_view name);

}  // namespace orch::plan
