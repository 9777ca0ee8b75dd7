// Shell completion: the shell's script passes the words of the line to `orch _offer`, which knows
// verbs, options and fixed values from the parser, and names that depend on the machine (clusters,
// runs) from orch.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>

#include "core/base/text.h"
#include "core/cli/usage.h"

namespace orch::cli {
namespace {

// The possible values at a position.
struct OptionValues {
  std::vector<std::string> words;  // fixed values
  std::string kind;                // a kind for app::names_of(); empty: none
  std::string files;               // "lua": folders and *.lua; "*": any file; empty: none
};

struct NamedOption {
  std::string_view verb;  // empty: any verb
  std::string_view name;  // name of an argument or option
  OptionValues values;
};

const std::vector<NamedOption>& known_names() {
  static const std::vector<NamedOption> all = {
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

// The values in "TEXT:{table,md}", the description of a one_of check.
std::vector<std::string> choices(const CLI::Option& option) {
  const auto type = option.get_type_name();
  const auto from = type.find('{'), to = type.find('}');
  if (from == std::string::npos || to == std::string::npos) return {};
  return split(type.substr(from + 1, to - from - 1), ',');
}

// True if the value is a number, a date or free text: nothing to offer.
bool is_free(const CLI::Option& option) {
  static const std::vector<std::string> places = {"INPUT", "PREFIX", "FOLDER", "PATH"};
  if (option.get_positional())
    return std::find(places.begin(), places.end(), option.get_name(true)) == places.end();
  static const std::vector<std::string> paths = {"--runs", "--output", "--tokenizer", "--in"};
  return std::none_of(paths.begin(), paths.end(),
                      [&](const auto& path) { return option.check_name(path); });
}

OptionValues values_of(const std::string& verb, const CLI::Option& option) {
  if (auto words = choices(option); !words.empty()) return {std::move(words), "", ""};
  for (const auto& known : known_names())
    if ((known.verb.empty() || known.verb == verb) &&
        (option.get_positional() ? option.get_name(true) == known.name
                                 : option.check_name(std::string(known.name))))
      return known.values;
  return {{}, "", is_free(option) ? "" : "*"};
}

// The line up to the word being typed: --name=value is two words, like --name value. bash has
// already split it, and passes the "=" as a word.
std::vector<std::string> plain_words(const std::vector<std::string>& words) {
  std::vector<std::string> out;
  for (const auto& word : words) {
    const auto equals = word.starts_with("--") ? word.find('=') : std::string::npos;
    if (word != "=") out.push_back(word.substr(0, equals));
    if (equals != std::string::npos) out.push_back(word.substr(equals + 1));
  }
  if (words.empty() || words.back() == "=") out.emplace_back();
  return out;
}

// The possible values of the last word.
OptionValues values_at(const CLI::App& program, const std::vector<std::string>& words) {
  const auto* verb = &program;
  std::size_t at = 0;
  for (bool found = true; found && at + 1 < words.size();) {
    found = false;
    for (const auto* own : verbs_for_people(*verb))
      if (own->get_name() == words[at]) verb = own, found = true;
    if (found) ++at;
  }
  if (at + 1 < words.size())
    if (const auto* option = verb->get_option_no_throw(words[words.size() - 2]);
        option && !option->get_positional() && option->get_items_expected_max() > 0)
      return values_of(verb->get_name(), *option);
  const auto own =
      verb == &program || verb->get_name() == "help" ? verb_names(program) : verb_names(*verb);
  if (verb != &program && words.back().starts_with('-')) return {long_names(*verb), "", ""};
  if (!own.empty()) return {own, "", ""};
  for (const auto* option : verb->get_options())
    if (option->get_positional()) return values_of(verb->get_name(), *option);
  return {long_names(*verb), "", ""};
}

// The description of a verb at this position, after a tab.
std::string doc_of(const CLI::App& program, const std::string& word) {
  for (const auto* verb : verbs_for_people(program))
    if (verb->get_name() == word) return "\t" + verb->get_description();
  return "";
}

constexpr const char* kBash = R"(# orch completion bash >> ~/.bash_completion
_orch() {
  local word=${COMP_WORDS[COMP_CWORD]} files line
  COMPREPLY=()
  if [ "$word" = = ]; then word=""; fi
  {
    IFS= read -r files
    while IFS= read -r line; do COMPREPLY+=("${line%%$'\t'*}"); done
  } < <("${COMP_WORDS[0]/#\~\//$HOME/}" _offer -- "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null </dev/null)
  if [ -z "$files" ]; then return; fi
  while IFS= read -r line; do
    if [ "$files" = '*' ] || [ -d "$line" ] || [[ $line == *".$files" ]]; then COMPREPLY+=("$line"); fi
  done < <(compgen -f -- "$word")
}
complete -o filenames -F _orch orch ./orch
)";

constexpr const char* kZsh = R"(#compdef orch
# orch completion zsh > a file named _orch in a folder of $fpath
_orch() {
  local -a lines=("${(@f)$("${${(Q)words[1]}/#\~\//$HOME/}" _offer -- "${(@Q)words[2,CURRENT]}" 2>/dev/null)}")
  local files=$lines[1]
  local -a offers=("${(@)${(@)lines[2,-1]//:/\\:}/$'\t'/:}")
  if [[ $words[CURRENT] == --*=* ]]; then compset -P '*='; fi
  _describe offer offers
  case $files in
    '') ;;
    '*') _files ;;
    *) _files -g "*.$files" ;;
  esac
}
if [ "$funcstack[1]" = _orch ]; then _orch "$@"; else compdef _orch orch; fi
)";

constexpr const char* kFish = R"(# orch completion fish > ~/.config/fish/completions/orch.fish
function __orch_offer
    set -l words (commandline -opc)
    set -l word (commandline -ct)
    set -l program (string replace -r -- '^~/' "$HOME/" $words[1])
    set -l lines (command $program _offer -- $words[2..] "$word" 2>/dev/null)
    set -l name (string match -r -- '^--[^=]*=' "$word")
    for line in $lines[2..]
        echo "$name$line"
    end
    if test "$lines[1]" = '*'
        for file in (__fish_complete_path (string replace -- "$name" '' "$word"))
            echo "$name$file"
        end
    else if test -n "$lines[1]"
        __fish_complete_suffix ".$lines[1]"
    end
end
complete -c orch -f -a '(__orch_offer)'
)";

}  // namespace

void declare_completion(CLI::App& verb, CompletionArguments& to) {
  verb.add_option("SHELL", to.shell, "bash, zsh or fish")
      ->required()
      ->check(one_of({"bash", "zsh", "fish"}));
}

app::Ending completion_command(const CLI::App&, const CompletionArguments& arguments,
                               app::Console& console) {
  const auto& shell = arguments.shell;
  console.print(shell == "bash" ? kBash : shell == "zsh" ? kZsh : kFish);
  return app::Exit::ok;
}

void declare_offer(CLI::App& verb, OfferArguments& to) { verb.add_option("WORD", to.words); }

// Prints the kind of files that are possible, then a line for each value. Prints no errors, because
// the user has only pressed a key.
app::Ending offer_command(const CLI::App& program, const OfferArguments& arguments,
                          app::Console& console) {
  const auto words = plain_words(arguments.words);
  auto values = values_at(program, words);
  const auto runs = std::find(words.begin(), words.end(), "--runs");
  if (!values.kind.empty())
    for (auto& name : app::names_of(values.kind, words.end() - runs > 2 ? runs[1] : "runs"))
      values.words.push_back(std::move(name));
  auto out = values.files + "\n";
  for (const auto& word : values.words)
    if (word.starts_with(words.back()) && word.find_first_of("\n\t") == std::string::npos)
      out += word + (words.size() == 1 ? doc_of(program, word) : "") + "\n";
  console.print(out);
  return app::Exit::ok;
}

}  // namespace orch::cli
