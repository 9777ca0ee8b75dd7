#include "core/plan/run_id.h"

#include <fmt/format.h>

#include "core/base/text.h"
#include "core/plan/family.h"
#include "core/plan/run_fields.h"

namespace orch::plan {
namespace {

constexpr int kRule = 1;

class IdLines {
 public:
  IdLines() {
    constexpr std::size_t kUsual = 1024;
    out_.reserve(kUsual);
    out_ += fmt::format("rule={}\n", kRule);
  }
  // The length precedes a string, so that no value can be mistaken for another line.
  void add(std::string_view section, std::string_view name, const Value& value) {
    if (!section.empty()) (out_ += section) += '.';
    (out_ += name) += '=';
    if (const auto* text = std::get_if<std::string>(&value))
      ((out_ += std::to_string(text->size())) += ':') += *text;
    else
      out_ += show(value);
    out_ += '\n';
  }
  void add(std::string_view name, const std::string& text) {
    if (!text.empty()) add("", name, Value(text));
  }
  std::string text() && { return std::move(out_); }

 private:
  std::string out_;
};

// True if the field is part of the identity. The folder's path and the other runs of the experiment
// are not; the stack is only if it was named.
bool counts(const Run& run, const Family& family, const RunField& field) {
  if (const auto* of_model = field.size()) {
    const auto* size = family.find(*of_model);
    return size && is_unusual(run.model, *size);
  }
  if (field.section == "rampup" && !run.batch.rampup) return false;
  const std::string_view name = field.param.name;
  if (name == "stack") return run.stack != default_stack(run);
  return name != "paths_from" && name != "swept";
}

}  // namespace

std::string identity(const Run& run, const std::vector<TrainingField>& training) {
  IdLines lines;
  lines.add("strategy", run.strategy->name);
  lines.add("backend", run.strategy->backend);
  lines.add("family", run.model.family);
  lines.add("cluster", run.cluster->name);
  lines.add("partition", run.partition->name);
  lines.add("gpu", run.partition->gpu.name);
  const auto& family = family_of(run.model);
  for (const auto& field : run_fields())
    if (counts(run, family, field))
      if (const auto value = get(run, field); field.size() || value != field.param.default_value)
        lines.add(field.section, field.param.name, value);
  // The engine is only for the estimate and changes nothing where a framework trains.
  const auto trains = [&](const Param& param) {
    return run.framework.empty() || param.name != "engine";
  };
  for (std::size_t i = 0; i < run.settings.size(); ++i)
    if (const auto& param = run.strategy->params[i];
        run.settings[i] != param.default_value && trains(param))
      lines.add("settings", param.name, run.settings[i]);
  for (const auto& field : training)
    if (const auto value = get(run.training, field); value != field.param.default_value)
      lines.add("training", field.param.name, value);
  for (const auto& word : run.args) lines.add("", "args", Value(word));
  if (const auto spare = run.job.spare_nodes.value_or(0); spare > 0)
    lines.add("job", "spare_nodes", Value(spare));
  for (const auto& option : run.job.options) lines.add("job.options", option);
  for (const auto& [variable, value] : run.job.environment)
    lines.add("job.environment", variable, Value(value));
  for (const auto& mount : run.job.container.mounts) lines.add("container", "mounts", Value(mount));
  for (const auto& variable : run.job.expanded) lines.add("job.expanded", variable);
  return std::move(lines).text();
}

std::string run_id(const Run& run) {
  return fmt::format("{}-{:08x}", label(run), stable_hash(identity(run)) >> 32);
}

}  // namespace orch::plan
