#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>

#include "core/base/text.h"
#include "core/cli/commands.h"
#include "core/cli/exit.h"
#include "core/cli/usage.h"

namespace orch::cli {
namespace {

// The verbs and their options, as the parser itself knows them.
struct Verb {
  std::string name;
  std::string doc;
  std::vector<std::string> verbs;  // of its own
  std::vector<std::string> options;

  std::string words() const {
    auto all = verbs;
    all.insert(all.end(), options.begin(), options.end());
    return join(all, " ");
  }
};

void add_options(const CLI::App& app, std::vector<std::string>& to) {
  for (const auto* option : app.get_options())
    for (const auto& name : option->get_lnames())
      if (std::find(to.begin(), to.end(), "--" + name) == to.end()) to.push_back("--" + name);
}

std::vector<Verb> verbs(const CLI::App& program) {
  std::vector<Verb> out;
  for (const auto* verb : verbs_for_people(program)) {
    out.push_back({verb->get_name(), verb->get_description(), {}, {}});
    add_options(*verb, out.back().options);
    for (const auto* own : verb->get_subcommands({})) {
      out.back().verbs.push_back(own->get_name());
      add_options(*own, out.back().options);
    }
  }
  return out;
}

std::vector<std::string> names(const std::vector<Verb>& all) {
  std::vector<std::string> out;
  for (const auto& verb : all) out.push_back(verb.name);
  return out;
}

std::string bash(const std::vector<Verb>& all) {
  std::string cases;
  for (const auto& verb : all)
    cases += fmt::format("    {}) words=\"{}\" ;;\n", verb.name, verb.words());
  return fmt::format(R"(# orch completion bash >> ~/.bash_completion
_orch() {{
  local word=${{COMP_WORDS[COMP_CWORD]}} words="{}"
  if [ "$COMP_CWORD" -gt 1 ]; then
    case ${{COMP_WORDS[1]}} in
{}    *) words="" ;;
    esac
  fi
  mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word"; [ "$COMP_CWORD" -gt 1 ] && compgen -f -- "$word")
}}
complete -o filenames -F _orch orch ./orch
)",
                     join(names(all), " "), cases);
}

std::string zsh(const std::vector<Verb>& all) {
  std::string list, cases;
  for (const auto& verb : all) {
    list += fmt::format("    '{}:{}'\n", verb.name, verb.doc);
    cases += fmt::format("    {}) compadd -- {} ;;\n", verb.name, verb.words());
  }
  return fmt::format(R"(#compdef orch
# orch completion zsh > a file named _orch in a folder of $fpath
_orch() {{
  local -a verbs=(
{}  )
  if (( CURRENT == 2 )); then _describe verb verbs; return; fi
  case $words[2] in
{}  esac
  _files
}}
compdef _orch orch
)",
                     list, cases);
}

std::string fish(const std::vector<Verb>& all) {
  std::string out = "# orch completion fish > ~/.config/fish/completions/orch.fish\n";
  for (const auto& verb : all) {
    out += fmt::format("complete -c orch -n __fish_use_subcommand -f -a {} -d '{}'\n", verb.name,
                       verb.doc);
    for (const auto& own : verb.verbs)
      out += fmt::format("complete -c orch -n '__fish_seen_subcommand_from {}' -a {}\n", verb.name,
                         own);
    for (const auto& option : verb.options)
      out += fmt::format("complete -c orch -n '__fish_seen_subcommand_from {}' -l {}\n", verb.name,
                         option.substr(2));
  }
  return out;
}

}  // namespace

int completion_command(const CLI::App& program, const std::string& shell) {
  const auto all = verbs(program);
  print(shell == "bash" ? bash(all) : shell == "zsh" ? zsh(all) : fish(all));
  return kOk;
}

}  // namespace orch::cli
