#include <fmt/format.h>

#include "core/app/app.h"
#include "core/app/commands.h"
#include "core/app/stacks_list.h"
#include "core/base/text.h"
#include "core/plan/training.h"

namespace orch::app {
namespace {

// A parameter and its owner: a strategy's name, or "training".
struct ListedSetting {
  std::string of;
  plan::Param param;
};

std::vector<ListedSetting> settings_of(const std::string& name,
                                       const std::vector<plan::Param>& params) {
  return mapped(params, [&](const plan::Param& param) { return ListedSetting{name, param}; });
}

std::string values_of(const plan::Param& param) {
  if (param.type == plan::ParamType::choice) return join(param.choices, " | ");
  const std::string range =
      param.min == 0 && param.max == 0 ? "" : fmt::format(" {:g}..{:g}", param.min, param.max);
  return std::string(plan::name(param.type)) + range;
}

show::Cell default_of(const plan::Param& param) {
  const bool given = plan::is_given(param.default_value);
  return {param.default_value, given ? plan::plain(param.default_value) : "required"};
}

show::Table settings_table(std::string title, std::vector<ListedSetting> settings) {
  show::Columns<ListedSetting> columns(std::move(settings));
  columns.add("of", [](const ListedSetting& s) { return s.of; });
  columns.add("name", "parameter", 0, [](const ListedSetting& s) { return s.param.name; });
  columns.add("default", "default", 0, [](const ListedSetting& s) { return default_of(s.param); });
  columns.add("values", "values", 0, [](const ListedSetting& s) { return values_of(s.param); });
  columns.add("doc", "what", 0, [](const ListedSetting& s) { return s.param.doc; });
  return columns.table("parameters", std::move(title));
}

// A strategy of a backend.
struct OfferedStrategy {
  const backend::Backend* backend = nullptr;
  plan::StrategyPtr strategy;
};

show::Table strategies_table(std::vector<OfferedStrategy> offered) {
  show::Columns<OfferedStrategy> columns(std::move(offered));
  columns.add("name", [](const OfferedStrategy& o) { return o.strategy->name; });
  columns.add("doc", [](const OfferedStrategy& o) { return o.strategy->doc; });
  columns.add("backend", [](const OfferedStrategy& o) { return o.backend->name(); });
  columns.add("version", [](const OfferedStrategy& o) { return o.backend->version(); });
  columns.add("backend_doc", [](const OfferedStrategy& o) { return o.backend->doc(); });
  columns.add("file", [](const OfferedStrategy& o) { return o.backend->file().string(); });
  return columns.table("strategies");
}

// "0.4 to 0.19"; any, if the template has none.
std::string versions_text(const std::vector<std::string>& versions) {
  if (versions.empty()) return "any";
  return versions.size() > 3 ? versions.front() + " to " + versions.back() : join(versions, ", ");
}

// Frameworks that can train a strategy; a template that cannot be read has the error in its row.
show::Table frameworks_table(App& app) {
  auto& frameworks = app.frameworks();
  show::Columns<std::string> columns(frameworks.names());
  columns.add("name", "framework", 0, [](const std::string& name) { return name; });
  columns.add("versions", "versions", 0, [&](const std::string& name) -> show::Cell {
    const auto about = frameworks.about(name);
    return about ? show::Cell(join(about->versions, " "), versions_text(about->versions))
                 : show::Cell();
  });
  columns.add("tested", "tested", 0, [&](const std::string& name) -> show::Cell {
    const auto about = frameworks.about(name);
    if (!about || about->tested.empty()) return {};
    return show::Cell(about->package + " " + about->tested);
  });
  columns.add("doc", "what", 0, [&](const std::string& name) {
    const auto about = frameworks.about(name);
    return about ? about->doc : about.error().front().text();
  });
  return columns.table("frameworks",
                       "framework = \"name@version\": the programs that a strategy may be trained "
                       "by instead of ours");
}

std::string title_of(const OfferedStrategy& offered) {
  return fmt::format("{}{{}}: {} (backend {} {})", offered.strategy->name, offered.strategy->doc,
                     offered.backend->name(), offered.backend->version());
}

// The strategies selected by the name of a strategy, a backend or a section; no name: all.
class BackendListing {
 public:
  BackendListing(App& app, std::string wanted) : app_(app), wanted_(std::move(wanted)) {}

  Result<show::Answer> answer() {
    for (const auto& backend : app_.backends().all())
      for (const auto& strategy : backend.strategies()) add(OfferedStrategy{&backend, strategy});
    if (!offered_.empty())
      answer_.sections.push_back(show::for_programs(strategies_table(std::move(offered_))));
    const auto training = mapped(plan::training_fields(), &plan::TrainingField::param);
    if (wants("training"))
      add("training = {}: how the runs of an experiment learn, whatever their strategy", "training",
          training);
    if (!settings_.empty())
      answer_.sections.push_back(show::for_programs(settings_table("", std::move(settings_))));
    if (wants("frameworks")) answer_.sections.push_back(frameworks_table(app_));
    if (wants("stacks"))
      if (auto status = add_stacks(app_, answer_.sections); !status) return status.error();
    if (!answer_.sections.empty()) return std::move(answer_);
    return Error{printable(wanted_), "no such strategy or backend", suggestion(wanted_, names_)};
  }

 private:
  bool wants(const std::string& name) {
    names_.push_back(name);
    return wanted_.empty() || wanted_ == name;
  }

  void add(const OfferedStrategy& offered) {
    if (!wants(offered.strategy->name) && wanted_ != offered.backend->name()) return;
    offered_.push_back(offered);
    add(title_of(offered), offered.strategy->name, offered.strategy->params);
  }

  void add(const std::string& title, const std::string& name,
           const std::vector<plan::Param>& params) {
    auto settings = settings_of(name, params);
    settings_.insert(settings_.end(), settings.begin(), settings.end());
    answer_.sections.push_back(show::for_people(settings_table(title, std::move(settings))));
  }

  App& app_;
  std::string wanted_;
  show::Answer answer_;
  std::vector<std::string> names_;
  std::vector<OfferedStrategy> offered_;
  std::vector<ListedSetting> settings_;
};

}  // namespace

Ending backends_command(App& app, const ListArguments& arguments, Console& console) {
  app.look_in(".");
  const auto answer = BackendListing(app, arguments.name).answer();
  if (!answer) return answer.error();
  arguments.common.give(*answer, console);
  return Exit::ok;
}

}  // namespace orch::app
