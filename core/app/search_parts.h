#pragma once

// What a search of layouts and one of sizes have in common.

#include <string>
#include <vector>

#include "core/app/app.h"
#include "core/app/commands.h"
#include "core/plan/resolve.h"
#include "core/show/tables/json.h"

namespace orch::app {

// Whether the experiment lists several values of a field.
bool lists_several(const plan::Frame& frame, std::string_view field);

// With what --where asks of each configuration, and Ctrl-C.
Result<search::Options> options_of(App& app, const SearchArguments& arguments);

// Some of the best that a search found.
struct RunList {
  std::string name;   // in JSON and CSV
  std::string title;  // for people
  tables::Measure measure = tables::Measure::time;
  std::vector<const plan::Planned*> runs = {};
};

// Lists about one question, which is empty where there is one alone.
struct Question {
  std::string name;
  const std::vector<RunList>* lists = nullptr;
};

// For programs, the runs of all lists in one table.
show::Table for_programs(const plan::Experiment& experiment,
                         const std::vector<Question>& questions);
// A table of each list for people. A list that says what the first one of its question has
// said already is not shown to people again.
void add_lists(const plan::Experiment& experiment, const std::vector<Question>& questions,
               show::Answer& to);

// Writes the best as an experiment, where that is asked for. how: "the fastest of 512
// configurations".
Status write_best(const SearchArguments& arguments, const plan::Experiment& experiment,
                  const plan::Planned& best, const plan::AskedStrategy& asked,
                  const std::string& how);

// What to do with the best; lua: its strategy, where the rest is as the experiment has it.
std::string next_step(const SearchArguments& arguments, const std::string& lua);

// Why nothing, or not all, was left: by the field to blame, with one example.
std::string reasons_text(App& app, const plan::Experiment& experiment, const search::Space& space,
                         const search::Found& found);

}  // namespace orch::app
