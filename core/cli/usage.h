#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <type_traits>
#include <vector>

#include "core/app/commands.h"

namespace orch::cli {

// Validators of option values, with messages for people.
CLI::Validator positive_number();
CLI::Validator whole_number(double min, double max);
CLI::Validator date();
CLI::Validator one_of(std::vector<std::string> names);
// Adds an option with an integer value. --help shows its default if it has one.
template <class Number>
CLI::Option* add_count(CLI::App& verb, const char* name, Number& to, const char* help, double min,
                       double max) {
  auto* option = verb.add_option(name, to, help)->check(whole_number(min, max));
  if constexpr (std::is_arithmetic_v<Number>)
    if (static_cast<double>(to) >= min) option->capture_default_str();
  return option;
}
// Adds an option that may be given several times.
void add_list(CLI::App& verb, const char* name, std::vector<std::string>& to, const char* help,
              const char* type);
void add_format(CLI::App& verb, app::CommonArguments& common,
                std::vector<std::string> formats = {"table", "md", "csv", "json"});
void add_runs(CLI::App& verb, std::string& to);  // --runs, the folder of the run folders
// --set path=value, for every verb that reads an experiment.
void add_set(CLI::App& verb, std::vector<std::string>& to);

// The verbs for users: those without a group are internal.
std::vector<const CLI::App*> verbs_for_people(const CLI::App& program);
std::vector<std::string> verb_names(const CLI::App& program);
std::vector<std::string> long_names(const CLI::App& verb);  // Names of its options: "--runs".

// The source of the manual page: every verb and option, as --help has them.
std::string man_page(const CLI::App& program);

// The errors of a command line, with suggestions.
Errors usage_errors(const CLI::App& program, const CLI::ParseError& error,
                    const std::vector<std::string>& words);

// Options of the verbs about the program itself.
struct HelpArguments {
  std::string verb;
  bool man = false;
};
struct CompletionArguments {
  std::string shell;
};
struct OfferArguments {
  std::vector<std::string> words;  // words of the line, the last one possibly incomplete
};
void declare_help(CLI::App& verb, HelpArguments& to);
void declare_completion(CLI::App& verb, CompletionArguments& to);
void declare_offer(CLI::App& verb, OfferArguments& to);
void declare_supervise(CLI::App& verb, app::SuperviseArguments& to);
app::Ending help_command(const CLI::App& program, const HelpArguments& arguments,
                         app::Console& console);
app::Ending completion_command(const CLI::App& program, const CompletionArguments& arguments,
                               app::Console& console);
app::Ending offer_command(const CLI::App& program, const OfferArguments& arguments,
                          app::Console& console);

}  // namespace orch::cli
