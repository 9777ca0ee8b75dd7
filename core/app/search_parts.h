#pragma once

// Functions shared by a search of layouts and one of sizes.

#include <string>
#include <vector>

#include "core/app/app.h"
#include "core/app/commands.h"
#include "core/plan/resolve.h"

namespace orch::app {

// True if the experiment lists several values of a field.
bool lists_several(const plan::FieldSources& frame, std::string_view field);

// The options of a search, with the --where condition and Ctrl-C.
Result<search::SearchOptions> options_of(App& app, const SearchArguments& arguments);

// A list of best runs.
struct RunList {
  std::string name;   // in JSON and CSV
  std::string title;  // for people
  tables::RankBy measure = tables::RankBy::time;
  std::vector<const plan::Planned*> runs = {};
};

// The lists for one question; its name is empty if there is only one.
struct Question {
  std::string name;
  const std::vector<RunList>* lists = nullptr;
};

// The runs of all lists in one table.
show::Table for_programs(const plan::Experiment& experiment,
                         const std::vector<Question>& questions);
// Adds a table of each list for people, except a list with the same runs as the first one of its
// question.
void add_lists(const plan::Experiment& experiment, const std::vector<Question>& questions,
               show::Answer& to);

// Writes the best run as an experiment, if requested. how: "the fastest of 512 configurations".
Status write_best(const SearchArguments& arguments, const plan::Experiment& experiment,
                  const plan::Planned& best, const plan::AskedStrategy& asked,
                  const std::string& how);

// The suggested next step; lua: the best strategy, if everything else is as in the experiment.
std::string next_step(const SearchArguments& arguments, const std::string& lua);

// Why no configuration, or not all, were left: by the responsible field, with an example.
std::string reasons_text(App& app, const plan::Experiment& experiment,
                         const search::SearchSpace& space, const search::SearchResult& found);

}  // namespace orch::app
