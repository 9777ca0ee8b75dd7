#include "core/app/commands.h"

namespace orch::app {

void CommonArguments::give(const show::Answer& answer, Console& console) const {
  const show::Print print = [&](const std::string& text) { console.print(text); };
  if (format == "json") return show::print_json(answer, print);
  if (format != "csv") return console.print(show::text(answer, screen));
  show::print_csv(answer, print);
  show::Answer beside;
  for (const auto& section : answer.sections)
    if (std::holds_alternative<show::Findings>(section)) beside.sections.push_back(section);
  if (const auto notes = show::text(beside, screen); !notes.empty()) console.note(notes);
}

}  // namespace orch::app
