#pragma once

#include <string_view>
#include <vector>

#include "core/plan/run.h"
#include "core/plan/value.h"

namespace orch::plan {

// What may change if two runs differ in a field: results or only speed.
struct FieldEffect {
  bool speed = false, memory = false, loss = false;
  bool any() const { return speed || memory || loss; }
};

// A field of a run by its only name: in Lua, JSON, CSV, --where, tables and the page.
struct Term {
  std::string_view name;     // tensor_parallel
  std::string_view head;     // column header: "TP"
  std::string_view meaning;  // "tensor-parallel ranks"
  std::string_view alias;    // its name in tables of measurements: "tp"; empty: the same
  FieldEffect changes;
  // Reads the field from a run. Null: the field exists only in logs, tables or a strategy's
  // settings. Gives no value where a run has no such field.
  Value (*read)(const Run&) = nullptr;
  bool planned = false;  // in a plan only: records do not repeat it
};

// All of them, in the order of display. A strategy's own parameters and the fields of training come
// after these, by their own names.
const std::vector<Term>& vocabulary();
const Term* find_term(std::string_view name);
// True for the model's name, its parameters and its sizes.
bool is_of_model(std::string_view name);

}  // namespace orch::plan
