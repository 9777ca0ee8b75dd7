#include "core/plan/run.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

namespace orch::plan {
namespace {

bool is_layout(const std::string& param) {
  return param == "tensor_parallel" || param == "pipeline_parallel";
}

// Settings worth naming: given although the default is another, or there is no default.
template <class F>
void for_each_variation(const Run& run, F&& visit) {
  for (std::size_t i = 0; i < run.settings.size(); ++i) {
    const auto& param = run.strategy->params[i];
    if (!is_layout(param.name) && run.settings[i] != param.default_value)
      visit(param, run.settings[i]);
  }
}

std::string plain(const Value& value) {
  const auto* text = std::get_if<std::string>(&value);
  return text ? *text : show(value);
}

std::string only_safe_characters(std::string text) {
  for (char& c : text)
    if (!std::isalnum(static_cast<unsigned char>(c)) && c != '.' && c != '_') c = '-';
  return text;
}

// The most data-parallel ranks that share a batch evenly and fill whole nodes.
std::int64_t ranks_for(const Run& run, std::int64_t global_batch) {
  const auto per_rank = run.layout.tensor_parallel * run.layout.pipeline_parallel;
  for (auto ranks = run.layout.data_parallel; ranks > 1; --ranks) {
    const auto gpus = ranks * per_rank;
    const bool whole_nodes =
        gpus % run.partition->gpus_per_node == 0 || gpus < run.partition->gpus_per_node;
    if (whole_nodes && global_batch % (ranks * run.batch.micro_batch) == 0) return ranks;
  }
  return 1;
}

Phase phase_of(const Run& run, std::int64_t global_batch, double samples) {
  const bool fewer = run.batch.rampup && run.batch.rampup->fewer_nodes;
  const auto ranks = fewer ? ranks_for(run, global_batch) : run.layout.data_parallel;
  const auto gpus = ranks * run.layout.tensor_parallel * run.layout.pipeline_parallel;
  const auto per_node = run.partition->gpus_per_node;
  return {global_batch, global_batch, static_cast<std::int64_t>(samples), ranks,
          (gpus + per_node - 1) / per_node};
}

}  // namespace

const Value& Run::setting(std::string_view name) const {
  static const Value kNone;
  const int i = strategy->index(name);
  return i < 0 ? kNone : settings[static_cast<std::size_t>(i)];
}

std::string Run::text_setting(std::string_view name) const {
  const auto* text = std::get_if<std::string>(&setting(name));
  return text ? *text : "";
}

std::string Run::dtype() const {
  const auto dtype = text_setting("dtype");
  return dtype.empty() ? "bf16" : dtype;
}

std::string variant(const Run& run) {
  std::string out;
  for_each_variation(run, [&](const Param& param, const Value& value) {
    if (!out.empty()) out += ' ';
    out += param.name + "=" + plain(value);
  });
  return out;
}

std::string label(const Run& run) {
  std::string out = run.model.name + "-" + run.strategy->name;
  for_each_variation(run, [&](const Param& param, const Value& value) {
    const bool named = param.type == ParamType::choice || param.type == ParamType::text;
    out += "-" + (named ? plain(value) : param.name + plain(value));
  });
  out += fmt::format("-{}gpu", run.gpus);
  if (run.layout.tensor_parallel > 1) out += fmt::format("-tp{}", run.layout.tensor_parallel);
  if (run.layout.pipeline_parallel > 1) out += fmt::format("-pp{}", run.layout.pipeline_parallel);
  out += fmt::format("-dp{}-mb{}", run.layout.data_parallel, run.batch.micro_batch);
  out = only_safe_characters(std::move(out));
  return out.substr(0, 100);
}

std::vector<RampStep> ramp_steps(const Batch& batch) {
  std::vector<RampStep> steps;
  if (!batch.rampup || batch.rampup->step <= 0) return steps;
  const auto increments = (batch.global_batch - batch.rampup->start) / batch.rampup->step;
  for (std::int64_t i = 0; i < increments; ++i)
    steps.push_back({batch.rampup->start + i * batch.rampup->step,
                     static_cast<double>(batch.rampup->samples) / static_cast<double>(increments)});
  return steps;
}

std::vector<Phase> phases(const Run& run) {
  auto steps = ramp_steps(run.batch);
  double ramp_samples = 0;
  for (const auto& step : steps) ramp_samples += step.samples;
  steps.push_back({run.batch.global_batch, std::max(0.0, run.samples() - ramp_samples)});

  std::vector<Phase> phases;
  for (const auto& step : steps) {
    const auto phase = phase_of(run, step.global_batch, step.samples);
    if (!phases.empty() && phases.back().data_parallel == phase.data_parallel) {
      phases.back().last_batch = phase.last_batch;
      phases.back().samples += phase.samples;
    } else {
      phases.push_back(phase);
    }
  }
  return phases;
}

}  // namespace orch::plan
