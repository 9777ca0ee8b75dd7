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

  // Which names may stand in the table; the strategy's parameters count too if there is one.
  struct Allowed {
    std::vector<plan::Section> sections;
    plan::StrategyPtr strategy;            // may be null
    std::vector<std::string> others;       // read by someone else
    const plan::Family* family = nullptr;  // whose open sizes stand for the section of the model
  };
  // The place may be empty: that of the experiment itself.
  plan::Space read(const sol::table& table, const Allowed& allowed, const std::string& place);

 private:
  void read_field(const std::string& name, const sol::object& value, const Allowed& allowed,
                  const std::string& place, plan::Space& space);
  void read_zip(const sol::table& zip, const Allowed& allowed, const std::string& place,
                plan::Space& space);
  // Rows of values for the fields of the axis; a choice with parameters adds fields.
  void read_points(const std::string& name, const sol::object& value, const Allowed& allowed,
                   const std::string& place, plan::Axis& axis);
  void read_choice(const std::string& name, const sol::table& choice, const Allowed& allowed,
                   const std::string& place, plan::Axis& axis);
  void read_plain(const std::string& name, const sol::object& value, const Allowed& allowed,
                  const std::string& place, plan::Axis& axis);
  void check_repeats(const plan::Space& space, const std::string& place);
  std::vector<std::string> names(const Allowed& allowed) const;
  Result<plan::Value> conform(const std::string& name, const plan::Value& value,
                              const Allowed& allowed, const std::string& place) const;
  void error(std::string place, std::string fact, std::string fix) {
    errors_.push_back({std::move(place), std::move(fact), std::move(fix)});
  }

  Loader::State& state_;
  Errors& errors_;
  std::string file_;
};

// Keys of a table in a fixed order: 1, 2, … then texts; anything else is an error of its own.
struct Keys {
  std::vector<sol::object> items;                           // the list part
  std::vector<std::pair<std::string, sol::object>> fields;  // by name
};
Keys keys_of(const sol::table& table, const std::string& place, Errors& errors);

// The named fields of a table in which nothing may stand without a name; example says how.
std::vector<std::pair<std::string, sol::object>> fields_of(const sol::table& table,
                                                           const std::string& place,
                                                           const std::string& example,
                                                           Errors& errors);

// Whether the table says something about the field, on its own or in zip{}.
bool mentions(const sol::table& table, const std::string& field);

// "experiment.lua: batch.tokens", where the place does not begin with its file already.
std::string in_file(const std::string& file, const std::string& place);

}  // namespace orch::experiment
