// What a shell may offer: verbs, options and fixed values as the parser itself knows them; names
// that depend on the machine (clusters, runs) are asked of `orch _words` when they are needed. Each
// shell gets the same table in its own language.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <optional>

#include "core/base/text.h"
#include "core/cli/usage.h"

namespace orch::cli {
namespace {

// What may stand somewhere.
struct Values {
  std::vector<std::string> words;  // fixed ones
  std::string kind;                // of `orch _words`; empty: none
  std::string files;               // "lua": folders and *.lua; "*": any file; empty: none
};

struct Named {
  std::string_view verb;  // empty: of any verb
  std::string_view name;  // of an argument, or of an option
  Values values;
};

const std::vector<Named>& known_names() {
  static const std::vector<Named> all = {
      {"explain", "RUN", {{}, "runs", "lua"}},
      {"probe", "RUN", {{}, "runs", "lua"}},
      {"export", "RUN", {{}, "runs", "*"}},
      {"", "RUN", {{}, "runs", ""}},
      {"", "TARGET", {{}, "targets", ""}},
      {"", "WHAT", {{}, "targets", "*"}},
      {"backends", "NAME", {{}, "strategies", ""}},
      {"clusters", "NAME", {{}, "clusters", ""}},
      {"models", "NAME", {{}, "models", ""}},
      {"validate", "FILE", {{}, "", "csv"}},
      {"", "FILE", {{}, "", "lua"}},
      {"", "--cluster", {{}, "clusters", ""}},
      {"", "--from", {{}, "", "csv"}},
      {"", "--patterns", {{}, "", "lua"}},
      {"search", "--write", {{}, "", "lua"}},
  };
  return all;
}

// The names in "TEXT:{table,md}", which is how a check of one_of describes itself.
std::vector<std::string> choices(const CLI::Option& option) {
  const auto type = option.get_type_name();
  const auto from = type.find('{'), to = type.find('}');
  if (from == std::string::npos || to == std::string::npos) return {};
  return split(type.substr(from + 1, to - from - 1), ',');
}

// Whether a word that follows is a number, a day or a text of the user's own: nothing to offer.
bool is_free(const CLI::Option& option) {
  static const std::vector<std::string> places = {"INPUT", "PREFIX", "FOLDER", "PATH"};
  if (option.get_positional())
    return std::find(places.begin(), places.end(), option.get_name(true)) == places.end();
  static const std::vector<std::string> paths = {"--runs", "--output", "--tokenizer", "--in"};
  return std::none_of(paths.begin(), paths.end(),
                      [&](const auto& path) { return option.check_name(path); });
}

Values values_of(const std::string& verb, const CLI::Option& option) {
  if (auto words = choices(option); !words.empty()) return {std::move(words), "", ""};
  for (const auto& known : known_names())
    if ((known.verb.empty() || known.verb == verb) &&
        (option.get_positional() ? option.get_name(true) == known.name
                                 : option.check_name(std::string(known.name))))
      return known.values;
  return {{}, "", is_free(option) ? "" : "*"};
}

struct Option {
  std::vector<std::string> names;  // "-o", "--output"
  bool takes = false;              // a value
  Values values;
};

struct Menu {
  std::string name;  // "data build"
  std::string doc;
  std::vector<std::string> verbs;  // of its own
  std::vector<Option> options;
  std::optional<Values> argument;

  std::vector<std::string> long_names() const {
    std::vector<std::string> out;
    for (const auto& option : options)
      for (const auto& each : option.names)
        if (each.starts_with("--")) out.push_back(each);
    return out;
  }
};

void add_verb(const CLI::App& app, const std::string& name, std::vector<Menu>& to) {
  Menu verb{name, app.get_description(), {}, {}, {}};
  for (const auto* option : app.get_options()) {
    auto values = values_of(name, *option);
    if (option->get_positional()) {
      verb.argument = std::move(values);
      continue;
    }
    Option& made = verb.options.emplace_back();
    for (const auto& own : option->get_snames()) made.names.push_back("-" + own);
    for (const auto& own : option->get_lnames()) made.names.push_back("--" + own);
    made.takes = option->get_items_expected_max() > 0;
    made.values = std::move(values);
  }
  for (const auto* own : app.get_subcommands({})) verb.verbs.push_back(own->get_name());
  to.push_back(std::move(verb));
  for (const auto* own : app.get_subcommands({})) add_verb(*own, name + " " + own->get_name(), to);
}

std::vector<Menu> menus(const CLI::App& program) {
  std::vector<Menu> out;
  for (const auto* verb : verbs_for_people(program)) add_verb(*verb, verb->get_name(), out);
  std::vector<std::string> all;
  for (const auto* verb : verbs_for_people(program)) all.push_back(verb->get_name());
  for (auto& verb : out)
    if (verb.name == "help") verb.argument = Values{all, "", ""};
  return out;
}

bool is_own(const Menu& verb) { return verb.name.find(' ') != std::string::npos; }

std::vector<std::string> first_words(const std::vector<Menu>& all) {
  std::vector<std::string> out;
  for (const auto& verb : all)
    if (!is_own(verb)) out.push_back(verb.name);
  return out;
}

// One line of a case for each place: what the shell finds in fixed, kind and files.
std::string bash_line(const std::string& pattern, const Values& values) {
  return fmt::format("    {}) fixed=\"{}\" kind=\"{}\" files=\"{}\" ;;\n", pattern,
                     join(values.words, " "), values.kind, values.files);
}

std::string option_values(const std::vector<Menu>& all) {
  std::string out;
  for (const auto& verb : all)
    for (const auto& option : verb.options) {
      if (!option.takes) continue;
      std::vector<std::string> patterns;
      for (const auto& name : option.names)
        patterns.push_back(fmt::format("\"{} {}\"", verb.name, name));
      out += bash_line(join(patterns, " | "), option.values);
    }
  return out;
}

std::string argument_values(const std::vector<Menu>& all) {
  std::string out;
  for (const auto& verb : all) {
    auto values = verb.argument.value_or(Values());
    if (!verb.verbs.empty()) values.words = verb.verbs;
    if (!verb.argument && verb.verbs.empty()) values.words = verb.long_names();
    out += bash_line(fmt::format("\"{}\"", verb.name), values);
  }
  return out;
}

std::string option_names(const std::vector<Menu>& all) {
  std::string out;
  for (const auto& verb : all)
    out += bash_line(fmt::format("\"{}\"", verb.name), {verb.long_names(), "", ""});
  return out;
}

std::string own_verbs(const std::vector<Menu>& all) {
  std::vector<std::string> out;
  for (const auto& verb : all)
    if (is_own(verb)) out.push_back("\"" + verb.name + "\"");
  return join(out, " | ");
}

// bash and zsh share the table; they differ in where the words of the line are, and in how they
// offer some. Words that orch names go through no expansion: a cluster's file may be called
// anything.
std::string value_table(const std::vector<Menu>& all) {
  return fmt::format(
      R"(# Leaves in fixed, kind and files what may stand after VERB [BEFORE], as its argument or option.
_orch_values() {{ # VERB BEFORE WORD
  fixed="" kind="" files=""
  case "$1 $2" in
{}    *)
      case $3 in
      -*)
        case $1 in
{}        esac
        ;;
      *)
        case $1 in
{}        esac
        ;;
      esac
      ;;
  esac
}}
)",
      option_values(all), option_names(all), argument_values(all));
}

std::string bash(const std::vector<Menu>& all) {
  return "# orch completion bash >> ~/.bash_completion\n" + value_table(all) +
         fmt::format(R"(_orch() {{
  local word=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD - 1]}} verb=${{COMP_WORDS[1]}}
  local fixed="{}" kind="" files="" runs=runs line i
  COMPREPLY=()
  if [ "$word" = = ]; then word=""; elif [ "$before" = = ]; then before=${{COMP_WORDS[COMP_CWORD - 2]}}; fi
  for ((i = 1; i < COMP_CWORD; i++)); do
    if [ "${{COMP_WORDS[i]}}" = --runs ]; then runs=${{COMP_WORDS[i + 1]}}; fi
    if [ "$runs" = = ]; then runs=${{COMP_WORDS[i + 2]}}; fi
  done
  if [ "$COMP_CWORD" -gt 2 ]; then
    case "$verb ${{COMP_WORDS[2]}}" in {}) verb="$verb ${{COMP_WORDS[2]}}" ;; esac
  fi
  if [ "$COMP_CWORD" -gt 1 ]; then _orch_values "$verb" "$before" "$word"; fi
  mapfile -t COMPREPLY < <(compgen -W "$fixed" -- "$word")
  if [ -n "$kind" ]; then
    while IFS= read -r line; do
      if [[ $line == "$word"* ]]; then COMPREPLY+=("$line"); fi
    done < <("${{COMP_WORDS[0]}}" _words "$kind" "$runs" 2>/dev/null </dev/null)
  fi
  if [ -z "$files" ]; then return; fi
  while IFS= read -r line; do
    if [ "$files" = '*' ] || [ -d "$line" ] || [[ $line == *".$files" ]]; then COMPREPLY+=("$line"); fi
  done < <(compgen -f -- "$word")
}}
complete -o filenames -F _orch orch ./orch
)",
                     join(first_words(all), " "), own_verbs(all));
}

// In single quotes, for zsh and fish.
std::string quoted(std::string_view text, std::string_view apostrophe) {
  std::string out;
  for (const char c : text) out += c == '\'' ? std::string(apostrophe) : std::string(1, c);
  return "'" + out + "'";
}

std::string zsh(const std::vector<Menu>& all) {
  std::string list;
  for (const auto& verb : all)
    if (!is_own(verb)) list += "    " + quoted(verb.name + ":" + verb.doc, R"('\'')") + "\n";
  return "#compdef orch\n# orch completion zsh > a file named _orch in a folder of $fpath\n" +
         value_table(all) +
         fmt::format(R"(_orch() {{
  local -a verbs=(
{}  )
  if (( CURRENT == 2 )); then _describe verb verbs; return; fi
  local verb=$words[2] before=$words[CURRENT-1] word=$words[CURRENT] fixed kind files runs=runs
  local at=$words[(I)--runs]
  if (( at > 0 && at < CURRENT - 1 )); then runs=$words[at+1]; fi
  if (( CURRENT > 3 )); then
    case "$verb $words[3]" in {}) verb="$verb $words[3]" ;; esac
  fi
  if [[ $word == --*=* ]]; then before=${{word%%=*}}; compset -P '*='; word=$PREFIX; fi
  _orch_values "$verb" "$before" "$word"
  compadd -- ${{(s: :)fixed}}
  if [[ -n $kind ]]; then
    compadd -- "${{(@f)$(_call_program words ${{(q)words[1]}} _words $kind ${{(q)runs}} 2>/dev/null)}}"
  fi
  case $files in
    '') ;;
    '*') _files ;;
    *) _files -g "*.$files" ;;
  esac
}}
if [ "$funcstack[1]" = _orch ]; then _orch "$@"; else compdef _orch orch; fi
)",
                     list, own_verbs(all));
}

// The words after -a: fixed ones, or what a command prints.
std::string fish_values(const Values& values) {
  std::string offers = join(values.words, " ");
  if (!values.kind.empty()) offers += fmt::format("(orch _words {} 2>/dev/null)", values.kind);
  if (!values.files.empty() && values.files != "*")
    offers +=
        fmt::format("{}(__fish_complete_suffix .{})", offers.empty() ? "" : " ", values.files);
  return (values.files == "*" ? " -F" : " -f") +
         (offers.empty() ? "" : " -a " + quoted(offers, R"(\')"));
}

std::string fish(const std::vector<Menu>& all) {
  std::string out = "# orch completion fish > ~/.config/fish/completions/orch.fish\n";
  for (const auto& verb : all) {
    const auto words = split(verb.name, ' ');
    std::string when = "-n __fish_use_subcommand";
    if (is_own(verb)) when = fmt::format("-n '__fish_seen_subcommand_from {}'", words.front());
    out += fmt::format("complete -c orch {} -f -a {} -d {}\n", when, words.back(),
                       quoted(verb.doc, R"(\')"));
    std::string inside =
        fmt::format("complete -c orch -n '__fish_seen_subcommand_from {}", words.front());
    if (is_own(verb)) inside += "; and __fish_seen_subcommand_from " + words.back();
    inside += "'";
    if (verb.argument) out += inside + fish_values(*verb.argument) + "\n";
    for (const auto& option : verb.options) {
      out += inside;
      for (const auto& name : option.names)
        out += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
      out += (option.takes ? " -r" + fish_values(option.values) : "") + "\n";
    }
  }
  return out;
}

}  // namespace

void declare_completion(CLI::App& verb, CompletionArguments& to) {
  verb.add_option("SHELL", to.shell, "bash, zsh or fish")
      ->required()
      ->check(one_of({"bash", "zsh", "fish"}));
}

app::Ending completion_command(const CLI::App& program, const CompletionArguments& arguments,
                               app::Console& console) {
  const auto all = menus(program);
  const auto& shell = arguments.shell;
  console.print(shell == "bash" ? bash(all) : shell == "zsh" ? zsh(all) : fish(all));
  return app::Exit::ok;
}

}  // namespace orch::cli
