#include "core/cli/usage.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "core/base/date.h"
#include "core/base/number.h"
#include "core/base/text.h"
#include "core/cli/terminal.h"

namespace orch::cli {
namespace {

// A position in the tree of verbs: "orch data build" is a verb of a verb.
struct VerbPosition {
  const CLI::App* app = nullptr;  // none: the program itself
  std::string place = "orch";
  std::vector<std::string> rest;  // of the arguments
};

VerbPosition find_verb(const CLI::App& program, const std::vector<std::string>& words) {
  VerbPosition found{nullptr, "orch", words};
  const auto* among = &program;
  while (among && !found.rest.empty()) {
    const auto* in = std::exchange(among, nullptr);
    for (const auto* verb : in->get_subcommands({}))
      if (verb->get_name() == found.rest.front()) among = found.app = verb;
    if (!among) break;
    found.place += " " + found.rest.front();
    found.rest.erase(found.rest.begin());
  }
  return found;
}

// The first argument that looks like an option but is unknown.
std::optional<std::string> unknown_option(const std::vector<std::string>& words,
                                          const std::vector<std::string>& known) {
  for (const auto& word : words) {
    if (word == "--") return std::nullopt;
    const auto name = word.substr(0, word.find('='));
    if (name.starts_with("--") && std::find(known.begin(), known.end(), name) == known.end())
      return name;
  }
  return std::nullopt;
}

}  // namespace

CLI::Validator positive_number() {
  return CLI::Validator(
      [](const std::string& text) -> std::string {
        const auto number = number_from<double>(text);
        if (!number || !(*number > 0))
          return fmt::format("'{}' is not a number above 0", printable(text));
        // Products and quotients of a few such values stay finite.
        constexpr double kLeast = 1e-12, kMost = 1e24;
        if (*number >= kLeast && *number <= kMost) return {};
        return fmt::format("'{}' is not a number from {} to {}", printable(text), kLeast, kMost);
      },
      "POSITIVE");
}

CLI::Validator whole_number(double min, double max) {
  return CLI::Validator(
      [min, max](const std::string& text) -> std::string {
        const auto number = number_from<double>(text);
        if (number && *number >= min && *number <= max && *number == std::floor(*number)) return {};
        return fmt::format("'{}' is not an integer from {} to {}", printable(text), min, max);
      },
      "");
}

void add_format(CLI::App& verb, app::CommonArguments& common, std::vector<std::string> formats) {
  common.screen = stdout_screen();
  verb.add_option("--format", common.format, "How to print")
      ->check(one_of(std::move(formats)))
      ->each([&common](const std::string& format) { common.screen.markdown = format == "md"; })
      ->capture_default_str();
}

void add_runs(CLI::App& verb, std::string& to) {
  verb.add_option("--runs", to, "Folder of the run folders")
      ->capture_default_str()
      ->check(CLI::Validator(
          [](const std::string& text) { return text.empty() ? "no folder given" : std::string(); },
          ""));
}

void add_list(CLI::App& verb, const char* name, std::vector<std::string>& to, const char* help,
              const char* type) {
  verb.add_option(name, to, help)->allow_extra_args(false)->type_name(type);
}

void add_set(CLI::App& verb, std::vector<std::string>& to) {
  add_list(verb, "--set", to, "A field of the experiment instead of the file's (repeatable)",
           "PATH=VALUE");
}

CLI::Validator date() {
  return CLI::Validator(
      [](const std::string& text) -> std::string {
        if (parse_date(text)) return {};
        return fmt::format("'{}' is not a date such as 2026-12-01", printable(text));
      },
      "YYYY-MM-DD");
}

CLI::Validator one_of(std::vector<std::string> names) {
  const auto list = join(names, ",");
  return CLI::Validator(
      [names = std::move(names)](const std::string& text) -> std::string {
        if (std::find(names.begin(), names.end(), text) != names.end()) return {};
        return fmt::format("'{}' is not one of {}", printable(text), join(names, ", "));
      },
      "{" + list + "}");
}

std::vector<const CLI::App*> verbs_for_people(const CLI::App& program) {
  return program.get_subcommands([](const CLI::App* verb) { return !verb->get_group().empty(); });
}

std::vector<std::string> long_names(const CLI::App& verb) {
  std::vector<std::string> names;
  for (const auto* option : verb.get_options())
    for (const auto& name : option->get_lnames()) names.push_back("--" + name);
  return names;
}

std::vector<std::string> verb_names(const CLI::App& among) {
  return mapped(verbs_for_people(among), [](const auto* verb) { return verb->get_name(); });
}

Errors usage_errors(const CLI::App& program, const CLI::ParseError& error,
                    const std::vector<std::string>& words) {
  const auto verb = find_verb(program, words);
  const auto& app = verb.app ? *verb.app : program;
  const auto known = long_names(app);
  if (const auto unknown = unknown_option(verb.rest, known))
    return Error{verb.place, fmt::format("no option '{}'", printable(*unknown)),
                 suggestion(*unknown, known)};
  if (const auto names = verb_names(app); !names.empty()) {
    if (verb.rest.empty())
      return Error{verb.place, "no verb given", "one of: " + join(names, ", ")};
    return Error{verb.place, fmt::format("no such verb '{}'", printable(verb.rest.front())),
                 suggestion(verb.rest.front(), names)};
  }
  return Error{verb.place, printable(error.what()), verb.place + " --help shows how"};
}

void declare_help(CLI::App& verb, HelpArguments& to) {
  verb.add_option("VERB", to.verb, "One of the verbs");
  verb.add_flag("--man", to.man, "The whole help as the source of a manual page");
}

app::Ending help_command(const CLI::App& program, const HelpArguments& arguments,
                         app::Console& console) {
  if (arguments.man) return console.print(man_page(program)), app::Exit::ok;
  if (arguments.verb.empty())
    return console.print(
               program.get_formatter()->make_help(&program, "orch", CLI::AppFormatMode::Normal)),
           app::Exit::ok;
  for (const auto* found : verbs_for_people(program))
    if (found->get_name() == arguments.verb)
      return console.print(found->help("orch")), app::Exit::ok;
  return {usage_errors(program, CLI::ParseError("", 0), {arguments.verb}), app::Exit::usage};
}

void declare_supervise(CLI::App& verb, app::SuperviseArguments& to) {
  verb.add_option("SUBMISSION", to.submission)->required();
}

}  // namespace orch::cli
