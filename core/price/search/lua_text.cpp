#include "core/price/search/lua_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "core/base/date.h"
#include "core/base/text.h"
#include "core/plan/defaults.h"
#include "core/plan/family.h"
#include "core/plan/lua_fields.h"

namespace orch::search {
namespace {

using plan::LuaFields, plan::lua_string;

std::string list(const std::vector<std::string>& texts) {
  std::vector<std::string> strings;
  for (const auto& text : texts) strings.push_back(lua_string(text));
  return "{ " + join(strings, ", ") + " }";
}

// The fields of a partition's job, or of a strategy's, that differ from `over`.
void add_surroundings(const plan::SlurmSettings& job, LuaFields& to) {
  LuaFields environment;
  for (const auto& [name, value] : job.environment)
    environment.add(name, (job.expanded.contains(name) ? "expand " : "") + lua_string(value));
  if (!environment.empty()) to.add("environment", environment.text());
  to.word("setup", job.setup);
  const auto& container = job.container;
  if (!container.given()) return;
  LuaFields inside;
  inside.word("image", container.image).word("runtime", container.runtime);
  if (!container.mounts.empty()) inside.add("mounts", list(container.mounts));
  inside.word("workdir", container.workdir);
  if (!container.gpu) inside.add("gpu", "false");
  to.add("container", inside.text());
}

std::string hardware_lua(const plan::Run& run, const plan::SlurmSettings& job) {
  LuaFields fields;
  fields.word("cluster", run.cluster->name).word("partition", run.partition->name);
  fields.number("gpus", run.gpus);
  fields.word("account", job.account).word("qos", job.qos).word("reservation", job.reservation);
  fields.word("constraint", job.constraint).word("time", job.time).word("hint", job.hint);
  fields.word("gres", job.gres);
  if (job.spare_nodes) fields.add("spare_nodes", fmt::format("{}", *job.spare_nodes));
  if (!job.options.empty()) fields.add("options", list(job.options));
  add_surroundings(job, fields);
  return fields.text();
}

std::string batch_lua(const plan::Batch& batch) {
  LuaFields fields;
  fields.number("global_batch", batch.global_batch).number("micro_batch", batch.micro_batch);
  if (!batch.rampup) return fields.text();
  LuaFields rampup;
  rampup.number("start", batch.rampup->start).number("step", batch.rampup->step);
  rampup.number("samples", batch.rampup->samples);
  if (batch.rampup->fewer_nodes) rampup.add("fewer_nodes", "true");
  if (batch.rampup->phases != plan::RampUp{}.phases) rampup.number("phases", batch.rampup->phases);
  return fields.add("rampup", rampup.text()).text();
}

std::string model_lua(const plan::Model& model) {
  LuaFields fields;
  if (is_plain_name(model.name)) fields.word("name", model.name);
  for (const auto& size : family_of(model).sizes)
    if (is_unusual(model, size))
      fields.add(plan::name(size.field), plan::lua_literal(get(model, size.field)));
  return fmt::format("{} {}", model.family, fields.text());
}

// The fields of `training` that differ from their defaults; a list where several values are given.
// A field that varies without being in the sweep is derived from those that are.
std::string training_lua(const plan::Experiment& experiment) {
  LuaFields fields;
  for (const auto& field : plan::training_fields()) {
    std::vector<plan::Value> values;
    for (const auto& training : experiment.trainings)
      if (const auto value = get(training, field); !contains(values, value))
        values.push_back(value);
    if (values.size() == 1 ? values.front() == field.param.default_value
                           : !contains(experiment.swept, field.param.name))
      continue;
    std::vector<std::string> texts;
    for (const auto& value : values) texts.push_back(plan::lua_literal(value));
    fields.add(field.param.name,
               texts.size() == 1 ? texts.front() : "{ " + join(texts, ", ") + " }");
  }
  return fields.text();
}

std::string windows_lua(const std::vector<plan::TimeWindow>& windows) {
  std::vector<std::string> parts;
  for (const auto& window : windows) {
    LuaFields fields;
    fields.word("from", format_date(window.from));
    if (window.nodes) fields.number("nodes", *window.nodes);
    if (window.share != 1) fields.number("share", window.share);
    parts.push_back(fields.text());
  }
  return "{ " + join(parts, ", ") + " }";
}

std::string budget_lua(const plan::Budget& budget) {
  LuaFields fields;
  for (const auto& each : plan::kExpenseLimits) fields.number(each.name, budget.*each.limit);
  fields.number("deadline_days", budget.deadline_days);
  if (budget.deadline) fields.word("deadline", format_date(*budget.deadline));
  fields.number("reserve_nodes", budget.reserve_nodes);
  return fields.text();
}

// One table of quantities for each `where`.
std::string expect_lua(const std::vector<plan::Expectation>& expectations) {
  std::vector<std::string> places, tables;
  for (const auto& expectation : expectations)
    if (!contains(places, expectation.where)) places.push_back(expectation.where);
  for (const auto& where : places) {
    LuaFields table;
    table.word("where", where);
    for (const auto& expectation : expectations) {
      if (expectation.where != where) continue;
      LuaFields fields;
      fields.number("value", expectation.value);
      if (expectation.below) fields.number("below", *expectation.below);
      if (expectation.above) fields.number("above", *expectation.above);
      table.add(expectation.quantity, fields.text());
    }
    tables.push_back(table.text());
  }
  return "{ " + join(tables, ", ") + " }";
}

// `stack` is the one that the experiment names.
LuaFields settings(const plan::Run& run, const std::string& stack) {
  LuaFields fields;
  for (std::size_t i = 0; i < run.settings.size(); ++i) {
    const auto& param = run.strategy->params[i];
    if (run.settings[i] != plan::default_setting(param, run, stack))
      fields.add(param.name, plan::lua_literal(run.settings[i]));
  }
  fields.word("framework", run.framework).word("launch", run.launch);
  if (!run.args.empty()) fields.add("args", list(run.args));
  return fields;
}

// The strategy without the batch, which has its own section in an experiment.
std::string asked_lua(const plan::Run& run, const plan::Experiment& experiment,
                      const plan::AskedStrategy& asked) {
  auto fields = settings(run, asked.stack.empty() ? experiment.stack : asked.stack);
  fields.word("stack", asked.stack);
  add_surroundings(asked.job, fields);
  return fmt::format("{} {}", run.strategy->name, fields.text());
}

}  // namespace

std::string strategy_lua(const plan::Run& run) {
  auto fields = settings(run, named_stack(run));
  fields.number("micro_batch", run.batch.micro_batch);
  return run.strategy->name + " " + fields.text();
}

std::string experiment_lua(const plan::Run& run, const plan::Experiment& experiment,
                           const plan::AskedStrategy& asked, const std::string& comment) {
  std::string out;
  for (const auto& line : split(comment, '\n')) out += "-- " + printable(line) + "\n";
  out += "return experiment {\n";
  const auto line = [&](std::string_view name, const std::string& text) {
    out += fmt::format("  {} = {},\n", name, text);
  };
  line("name", lua_string(experiment.name + "-best"));
  if (!experiment.doc.empty()) line("doc", lua_string(experiment.doc));
  if (!experiment.trainer.empty()) line("trainer", lua_string(experiment.trainer));
  if (!experiment.stack.empty()) line("stack", lua_string(experiment.stack));
  line("model", model_lua(run.model));
  line("hardware", hardware_lua(run, experiment.job));
  line("batch", batch_lua(run.batch));
  line("tokens", fmt::format("{}", run.tokens));
  if (run.steps > 0) line("steps", fmt::format("{}", run.steps));
  if (const auto training = training_lua(experiment); training != "{}") line("training", training);
  const auto& calendar = experiment.calendar;
  if (calendar.start) line("start", lua_string(format_date(*calendar.start)));
  if (calendar.availability != 1) line("availability", fmt::format("{}", calendar.availability));
  if (!calendar.windows.empty()) line("availability", windows_lua(calendar.windows));
  if (experiment.repeats > 1) line("repeats", fmt::format("{}", experiment.repeats));
  if (const auto budget = budget_lua(experiment.budget); budget != "{}") line("budget", budget);
  if (experiment.strict) line("strict", "true");
  if (!experiment.expect.empty()) line("expect", expect_lua(experiment.expect));
  line("strategies", fmt::format("{{ {} }}", asked_lua(run, experiment, asked)));
  return out + "}\n";
}

}  // namespace orch::search
