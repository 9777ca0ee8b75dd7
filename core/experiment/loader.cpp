#include "core/experiment/loader.h"

#include <fmt/format.h>

#include "core/experiment/reader.h"
#include "core/experiment/state.h"

namespace orch::experiment {
namespace {

constexpr const char* kWhereExample =
    "compare something, such as --where 'tensor_parallel == 8 and fit ~= \"oom\"'";

// Lua says what it expected; what people forget is a comma.
Errors with_hint(Errors errors) {
  for (auto& error : errors)
    if (error.fix.empty() && error.fact.find("'}' expected") != std::string::npos)
      error.fix = "is a comma missing before it?";
  return errors;
}

// Presets are plain: one value per size.
std::int64_t only_value(const plan::Space& space, std::string_view field) {
  for (const auto& axis : space.axes)
    if (axis.fields.front() == field)
      return plan::whole_number(axis.points.front().front()).value_or(0);
  return 0;
}

}  // namespace

Loader::Loader(std::vector<plan::StrategyPtr> strategies, fs::path models_file)
    : state_(std::make_unique<State>(std::move(strategies), std::move(models_file))) {}

Loader::~Loader() = default;

Result<plan::Experiment> Loader::load(const fs::path& file) {
  const auto text = read_file(file);
  if (!text) return text.error();
  return parse(*text, file.string());
}

Result<plan::Experiment> Loader::parse(const std::string& text, const std::string& file) {
  if (const auto ready = state_->prepare(); !ready) return ready.error();
  const auto returned = state_->sandbox().run(text, file);
  if (!returned) return with_hint(returned.error());
  return Reader(*state_, file).read(*returned);
}

Result<std::vector<plan::Model>> Loader::presets() {
  if (const auto ready = state_->prepare(); !ready) return ready.error();
  Reader reader(*state_, "models.lua");
  std::vector<plan::Model> models;
  for (const auto& [name, table] : state_->presets()) {
    const auto asked = reader.read_model(table, name);
    plan::Model model;
    model.name = name;
    model.family = plan::parse_family(tag_of(table).name).value_or(plan::Family::gpt);
    model.layers = only_value(asked.space, "layers");
    model.hidden = only_value(asked.space, "hidden");
    model.heads = only_value(asked.space, "heads");
    model.vocab = only_value(asked.space, "vocab");
    model.seq = only_value(asked.space, "seq");
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
