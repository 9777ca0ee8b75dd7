#pragma once

#include <string>
#include <vector>

#include "core/plan/experiment/state.h"
#include "core/plan/family.h"
#include "core/plan/fields.h"

namespace orch::experiment {

// Reads the fields of one table into a space: plain values, lists, zip{}, functions. It reports
// every mistake, each with its place.
class SpaceReader {
 public:
  SpaceReader(Loader::State& state, Errors& errors, std::string file)
      : state_(state), errors_(errors), file_(std::move(file)) {}

  // The names that are allowed in the table; with a strategy, its parameters too.
  struct Allowed {
    std::vector<plan::FieldSection> sections;
    plan::StrategyPtr strategy;            // may be null
    std::vector<std::string> others;       // fields that others read
    const plan::Family* family = nullptr;  // also its open sizes may be given
  };
  // The place may be empty for the experiment itself.
  plan::SweepSpace read(const sol::table& table, const Allowed& allowed, const std::string& place);

 private:
  void read_field(const std::string& name, const sol::object& value, const Allowed& allowed,
                  const std::string& place, plan::SweepSpace& space);
  void read_zip(const sol::table& zip, const Allowed& allowed, const std::string& place,
                plan::SweepSpace& space);
  // Rows of values for the fields of the axis; a choice with parameters adds fields.
  void read_points(const std::string& name, const sol::object& value, const Allowed& allowed,
                   const std::string& place, plan::SweepAxis& axis);
  void read_choice(const std::string& name, const sol::table& choice, const Allowed& allowed,
                   const std::string& place, plan::SweepAxis& axis);
  void read_plain(const std::string& name, const sol::object& value, const Allowed& allowed,
                  const std::string& place, plan::SweepAxis& axis);
  void check_repeats(const plan::SweepSpace& space, const std::string& place);
  std::vector<std::string> names(const Allowed& allowed) const;
  // A name that the table does not have.
  void refuse(const std::string& name, const Allowed& allowed, const std::string& place);
  Result<plan::Value> conform(const std::string& name, const plan::Value& value,
                              const Allowed& allowed, const std::string& place) const;
  void error(std::string place, std::string fact, std::string fix) {
    errors_.push_back({std::move(place), std::move(fact), std::move(fix)});
  }

  Loader::State& state_;
  Errors& errors_;
  std::string file_;
};

// Where a field belongs that is not in its section; "" if no section has it.
std::string section_advice(const std::string& name);

// The keys of a table in a fixed order: 1, 2, … then strings; any other key is an error.
struct AllowedKeys {
  std::vector<sol::object> items;                           // the list part
  std::vector<std::pair<std::string, sol::object>> fields;  // by name
};
AllowedKeys keys_of(const sol::table& table, const std::string& place, Errors& errors);

// The named fields of a table in which every entry needs a name; `example` shows how to write one.
std::vector<std::pair<std::string, sol::object>> fields_of(const sol::table& table,
                                                           const std::string& place,
                                                           const std::string& example,
                                                           Errors& errors);

// True if the table gives the field, directly or in zip{}.
bool mentions(const sol::table& table, const std::string& field);

// "experiment.lua: batch.tokens"; a place that already begins with the file stays as it is.
std::string in_file(const std::string& file, const std::string& place);

}  // namespace orch::experiment
