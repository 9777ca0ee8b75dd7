#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include "core/app/commands.h"

namespace orch::cli {

// A verb of the program. Usage, completion, the manual page and suggestions for mistyped words are
// made from the list of verbs.
struct Verb {
  std::string name;                        // "data build": a verb of the verb data
  std::string group;                       // its heading in --help; "": for orch itself
  std::string help;                        // one-line description
  std::string examples;                    // end of --help: examples and further information
  std::function<void(CLI::App&)> declare;  // declares its arguments
  // Executes it, after its arguments are parsed; none: it only has verbs.
  std::function<app::Ending(const CLI::App& program, app::Console& console)> run;
};

// In the order of --help.
std::vector<Verb> verbs();

// Combines the function that declares a verb's arguments with the one that uses them.
template <class Arguments, class Run>
Verb verb(std::string name, std::string group, std::string help, std::string examples,
          void (*declare)(CLI::App&, Arguments&), Run run) {
  const auto arguments = std::make_shared<Arguments>();
  return {std::move(name),
          std::move(group),
          std::move(help),
          std::move(examples),
          [=](CLI::App& to) { declare(to, *arguments); },
          [=](const CLI::App& program, app::Console& console) -> app::Ending {
            if constexpr (std::is_invocable_v<Run, app::App&, const Arguments&, app::Console&>) {
              const auto app = app::App::create();
              return app ? run(**app, *arguments, console) : app::Ending(app.error());
            } else if constexpr (std::is_invocable_v<Run, const Arguments&, app::Console&>) {
              return run(*arguments, console);
            } else {
              return run(program, *arguments, console);
            }
          }};
}

void declare_run(CLI::App& verb, app::RunArguments& to);
void declare_tune(CLI::App& verb, app::TuneArguments& to);
void declare_status(CLI::App& verb, app::FollowArguments& to);
void declare_watch(CLI::App& verb, app::FollowArguments& to);
void declare_logs(CLI::App& verb, app::LogsArguments& to);
void declare_cancel(CLI::App& verb, app::FollowArguments& to);
void declare_again(CLI::App& verb, app::FollowArguments& to);  // for resume and retry
void declare_inspect(CLI::App& verb, app::FollowArguments& to);
void declare_doctor(CLI::App& verb, app::DoctorArguments& to);
void declare_index(CLI::App& verb, app::FollowArguments& to);
void declare_plan(CLI::App& verb, app::PlanArguments& to);
void declare_search(CLI::App& verb, app::SearchArguments& to);
void declare_price(CLI::App& verb, app::PriceArguments& to);
void declare_explain(CLI::App& verb, app::ExplainArguments& to);
void declare_probe(CLI::App& verb, app::ProbeArguments& to);
void declare_ingest(CLI::App& verb, app::IngestArguments& to);
void declare_compare(CLI::App& verb, app::CompareArguments& to);
void declare_report(CLI::App& verb, app::ReportArguments& to);
void declare_check(CLI::App& verb, app::RecordArguments& to);
void declare_backends(CLI::App& verb, app::ListArguments& to);
void declare_clusters(CLI::App& verb, app::ListArguments& to);
void declare_models(CLI::App& verb, app::ModelArguments& to);
void declare_validate(CLI::App& verb, app::ValidateArguments& to);
void declare_calibrate(CLI::App& verb, app::CalibrateArguments& to);
void declare_data_build(CLI::App& verb, app::DataBuildArguments& to);
void declare_data_show(CLI::App& verb, app::DataShowArguments& to);
void declare_export(CLI::App& verb, app::ExportArguments& to);
void declare_import(CLI::App& verb, app::ImportArguments& to);

}  // namespace orch::cli
