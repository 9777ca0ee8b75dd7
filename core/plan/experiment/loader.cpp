#include "core/plan/experiment/loader.h"

#include <fmt/format.h>

#include "core/plan/experiment/reader.h"
#include "core/plan/experiment/state.h"
#include "core/plan/family.h"

namespace orch::experiment {
namespace {

constexpr const char* kWhereExample =
    "compare something, such as --where 'tensor_parallel == 8 and fit ~= \"oom\"'";

// Lua's message names what it expected; the usual mistake is a missing comma.
Errors with_hint(Errors errors) {
  for (auto& error : errors)
    if (error.fix.empty() && error.fact.find("'}' expected") != std::string::npos)
      error.fix = "is a comma missing before it?";
  return errors;
}

// Applies the command line's changes to the table that the file returned. If it is not a table, the
// reader reports that.
Result<std::vector<CommandLineChange>> changed(Loader::State& state,
                                               const std::vector<std::string>& set,
                                               sol::object& object) {
  std::vector<CommandLineChange> changes;
  if (object.get_type() != sol::type::table) return changes;
  auto top = object.as<sol::table>();
  Errors errors;
  for (const auto& text : set) {
    auto change = apply_change(state, text, top);
    if (errors.add(change)) changes.push_back(std::move(*change));
  }
  if (!errors.empty()) return errors;
  object = top;
  return changes;
}

// stdin can be read only once, but several parts of a verb may ask for it.
Result<std::string> read_stdin() {
  static const auto text = read_file("/dev/stdin");
  if (text) return *text;
  return Error{"<stdin>", "cannot be read", "orch plan - < experiment.lua"};
}

// Presets have exactly one value per size.
plan::Value only_value(const plan::SweepSpace& space, std::string_view field) {
  for (const auto& axis : space.axes)
    if (axis.fields.front() == field) return axis.points.front().front();
  return {};
}

}  // namespace

Loader::Loader(std::vector<plan::StrategyPtr> strategies, std::vector<fs::path> models_files,
               std::vector<std::string> quantities)
    : state_(std::make_unique<State>(std::move(strategies), std::move(models_files),
                                     std::move(quantities))) {}

Loader::~Loader() = default;

void Loader::look_for_models(std::vector<fs::path> models_files) {
  state_->look_for_models(std::move(models_files));
}

fs::path Loader::preset_file(const std::string& name) const { return state_->preset_file(name); }

Result<plan::Experiment> Loader::load(const ExperimentSource& source) {
  if (!source.text.empty()) return parse(source.text, source.name(), source.set);
  const auto text = source.is_stdin() ? read_stdin() : read_file(source.file);
  if (!text) return text.error();
  return parse(*text, source.name(), source.set);
}

Result<plan::Experiment> Loader::parse(const std::string& text, const std::string& file,
                                       const std::vector<std::string>& set) {
  if (const auto ready = state_->prepare(); !ready) return ready.error();
  auto& includes = state_->includes();
  includes.begin(file);
  const auto returned = state_->sandbox().run(text, file);
  includes.end();
  if (!returned) return with_hint(includes.errors().empty() ? returned.error() : includes.errors());
  auto object = *returned;
  const auto changes = changed(*state_, set, object);
  if (!changes) return changes.error();
  auto experiment = ExperimentReader(*state_, file).read(object);
  if (experiment) {
    experiment->includes = includes.files();
    experiment->set = set;
    return experiment;
  }
  auto errors = experiment.error();
  blame_changes(*changes, file, errors);
  return errors;
}

Result<std::vector<plan::Model>> Loader::presets() {
  if (const auto ready = state_->prepare(); !ready) return ready.error();
  ExperimentReader reader(*state_, "models.lua");
  std::vector<plan::Model> models;
  for (const auto& [name, table] : state_->presets()) {
    const auto asked = reader.read_model(table, name);
    if (!reader.errors().empty()) break;
    auto model = plan::complete(*plan::find_family(tag_of(table).name), [&](plan::Field field) {
      return only_value(asked.space, plan::name(field));
    });
    model.name = name;
    models.push_back(std::move(model));
  }
  if (!reader.errors().empty()) return reader.errors();
  return models;
}

Result<Loader::Filter> Loader::filter(const std::string& expression) {
  if (const auto ready = state_->prepare(); !ready) return ready.error();
  // The record's fields are the expression's globals.
  const auto function = state_->sandbox().run(
      "return function(r) local _ENV = r; return (" + expression + "\n) end", "--where");
  if (!function) {
    auto errors = function.error();
    for (auto& error : errors)
      if (error.fix.empty()) error.fix = kWhereExample;
    return errors;
  }
  const sol::reference compiled = *function;
  return Filter([state = state_.get(), compiled](const plan::Lookup& lookup) -> Result<bool> {
    const auto answer = state->call_with_record(compiled, lookup);
    if (!answer) return answer.error();
    if (answer->get_type() == sol::type::boolean) return answer->as<bool>();
    // "powersgd_rank and powersgd_rank > 2" is nil where a strategy has no such parameter.
    if (answer->get_type() == sol::type::lua_nil) return false;
    return Error{"--where", fmt::format("the expression gives {}", type_name(*answer)),
                 kWhereExample};
  });
}

}  // namespace orch::experiment
