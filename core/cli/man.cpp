// The manual page, made from the text of --help.
#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "core/base/text.h"
#include "core/cli/usage.h"

namespace orch::cli {
namespace {

// Escapes text for roff: no line of it is taken for a request.
std::string roff(std::string_view text) {
  std::string out;
  bool begins = true;
  for (const char c : text) {
    if (begins && (c == '.' || c == '\'')) out += "\\&";
    begins = c == '\n';
    out += c == '\\' ? "\\e" : c == '-' ? "\\-" : std::string(1, c);
  }
  return out;
}

std::string literal(std::string_view text) {
  return fmt::format(".PP\n.nf\n{}\n.fi\n", roff(trim(text)));
}

std::string option_text(const CLI::Formatter& formatter, const CLI::Option& option) {
  const bool positional = option.get_positional();
  return fmt::format(
      ".TP\n\\f{}{}\\fR{}\n{}\n", positional ? 'I' : 'B', roff(option.get_name(positional, true)),
      roff(formatter.make_option_opts(&option)), roff(formatter.make_option_desc(&option)));
}

void add_verb(const CLI::App& verb, const std::string& name, std::string& to) {
  const CLI::Formatter formatter;
  to += fmt::format(".SS {}\n{}.\n", roff(name), roff(verb.get_description()));
  for (const bool positional : {true, false})
    for (const auto* option : verb.get_options())
      if (option->get_positional() == positional) to += option_text(formatter, *option);
  if (!verb.get_footer().empty()) to += literal(verb.get_footer());
  for (const auto* own : verb.get_subcommands({})) add_verb(*own, name + " " + own->get_name(), to);
}

}  // namespace

std::string man_page(const CLI::App& program) {
  const auto& about = program.get_description();  // "orch: what it is"
  std::string out = fmt::format(
      ".TH ORCH 1 \"\" \"orch {}\" \"User Commands\"\n.SH NAME\norch \\- {}\n.SH SYNOPSIS\n"
      ".B orch\n.I VERB\n[\\fIARGUMENT\\fR ...] [\\fIOPTION\\fR ...]\n.SH VERBS\n",
      ORCH_VERSION, roff(about.substr(about.find(": ") + 2)));
  for (const auto* verb : verbs_for_people(program))
    add_verb(*verb, "orch " + verb->get_name(), out);
  return out + ".SH EXIT CODES AND ENVIRONMENT\n" + literal(program.get_footer());
}

}  // namespace orch::cli
