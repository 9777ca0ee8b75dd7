#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace orch::cli {

// What an option takes, with messages for people.
CLI::Validator positive_number();
CLI::Validator whole_number(double min, double max);
CLI::Validator date();
CLI::Validator one_of(std::vector<std::string> names);
void add_runs(CLI::App& verb, std::string& to);  // --runs, the folder of the run folders
// --set path=value, for every verb that reads an experiment.
void add_set(CLI::App& verb, std::vector<std::string>& to);

// The verbs that people use: one without a group is orch's own.
std::vector<const CLI::App*> verbs_for_people(const CLI::App& program);

// The source of the manual page: every verb and option, as --help has them.
std::string man_page(const CLI::App& program);

// Tells what is wrong with the command line and what was meant; returns the exit code.
int usage_error(const CLI::App& program, const CLI::ParseError& error,
                const std::vector<std::string>& words);

}  // namespace orch::cli
