#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/plan/experiment/spaces.h"
#include "core/plan/experiment/state.h"

namespace orch::experiment {

// Turns the table that an experiment file returned into a plan::Experiment, with every mistake in
// it reported at once.
class ExperimentReader {
 public:
  ExperimentReader(Loader::State& state, std::string file);

  Result<plan::Experiment> read(const sol::object& returned);

  // One model table, for the presets.
  plan::AskedModel read_model(const sol::object& value, const std::string& place);
  const Errors& errors() const { return errors_; }

 private:
  static constexpr double kMostNodes = 1e7;

  void read_top(const sol::table& top);
  std::string advice(const std::string& name) const;
  void read_name(const sol::object& value);
  void read_models(const sol::object& value);
  void read_hardware(const sol::object& value);
  std::string read_job_word(std::string_view name, const sol::object& value);
  void read_environment(const sol::object& value, const std::string& place,
                        plan::SlurmSettings& job);
  void read_container(const sol::object& value, const std::string& place, plan::SlurmSettings& job);
  void read_setup(const sol::object& value, const std::string& place, plan::SlurmSettings& job);
  void read_framework(const sol::table& table, plan::AskedStrategy& to);
  void read_args(const sol::object& value, const std::string& place, plan::AskedStrategy& to);
  void read_options(const sol::object& value, const std::string& place);
  void read_batch(const sol::object& value);
  void read_word(const char* name, const sol::object& value, const std::string& place,
                 std::string& to, const char* example = "...");
  void read_trainer(const sol::object& trainer, const sol::object& stack);
  void read_rampup(const sol::object& value, const std::string& place);
  void read_strategies(const sol::object& value);
  void read_strategy(const sol::object& value, const std::string& place);
  void read_training(const sol::object& value);
  std::vector<plan::Value> training_values(const plan::TrainingField& field,
                                           const sol::object& held, const std::string& place);
  double read_share(const sol::object& value, const std::string& place, const char* fix);
  void read_windows(const sol::table& list);
  void read_calendar(const sol::object& start, const sol::object& availability);
  void read_budget(const sol::object& value);
  void read_expect(const sol::object& value);
  void read_expected(const sol::table& table, const std::string& place);
  void read_expectation(const sol::table& table, const std::string& place,
                        plan::Expectation expectation);
  void read_constraints(const sol::object& value);
  std::optional<Date> date(const sol::object& value, const std::string& place);
  void read_search(const sol::object& value);
  double read_size(const sol::object& value, const std::string& place);
  std::vector<std::int64_t> read_sizes(const sol::object& value, const std::string& place,
                                       double max);
  // The named fields of a table, each with the function that reads it; an unknown name is an error,
  // and so is a missing one that is required. False: there is no such table.
  struct Named {
    std::string name;
    std::function<void(const sol::object& held, const std::string& place)> read;
    bool required = false;
  };
  bool read_named(const sol::object& value, const std::string& place, const std::string& example,
                  const std::vector<Named>& known);
  double positive(const sol::object& value, const std::string& place);
  bool flag(const char* name, const sol::object& value, const std::string& place);
  std::int64_t whole(const sol::object& value, const std::string& place, double min, double max);
  bool is_table(const sol::object& value, const std::string& place, const std::string& example);
  // True if a value is given and is a table; a missing one is no error.
  bool has_table(const sol::object& value, const std::string& place, const std::string& example) {
    return value.valid() && is_table(value, place, example);
  }
  void error(std::string place, std::string fact, std::string fix) {
    errors_.push_back({std::move(place), std::move(fact), std::move(fix)});
  }

  Loader::State& state_;
  std::string file_;
  Errors errors_;
  SpaceReader spaces_;
  plan::Experiment out_;
};

}  // namespace orch::experiment
