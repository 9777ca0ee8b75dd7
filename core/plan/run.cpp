#include "core/plan/run.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <filesystem>
#include <limits>
#include <numeric>

#include "core/base/text.h"
#include "core/plan/defaults.h"

namespace orch::plan {
namespace {

// With "-" and eight digits of the hash the id fits into 100 characters, the limit of file and job
// names.
constexpr std::size_t kLongestLabel = 91;

bool is_layout_param(std::string_view param) {
  return param == "tensor_parallel" || param == "pipeline_parallel";
}

// Settings to mention in a label: those that differ from their default, or have none.
template <class Default, class F>
void for_each_variation(const Run& run, Default&& default_of, F&& visit) {
  for (std::size_t i = 0; i < run.settings.size(); ++i) {
    const auto& param = run.strategy->params[i];
    if (run.settings[i] != default_of(param) && !is_layout_param(param.name))
      visit(param, run.settings[i]);
  }
}

// Calls f for the fields of training that differ between the experiment's runs.
template <class F>
void for_each_swept(const Run& run, F&& visit) {
  for (const auto& name : split(run.swept, ','))
    if (const auto* field = find_training_field(name))
      visit(field->param, get(run.training, *field));
}

// powersgd, stage1, fp32_accumulate, no-overlap.
std::string short_form(const Param& param, const Value& value) {
  if (const auto* flag = std::get_if<bool>(&value)) return (*flag ? "" : "no-") + param.name;
  const auto* text = std::get_if<std::string>(&value);
  return text ? *text : param.name + show(value);
}

std::string only_safe_characters(std::string text) {
  for (char& c : text)
    if (!std::isalnum(static_cast<unsigned char>(c)) && c != '.' && c != '_') c = '-';
  return text;
}

bool fills_nodes(const Run& run, std::int64_t ranks) {
  const auto gpus = ranks * run.layout.copy();
  return gpus % run.partition->gpus_per_node == 0 || gpus < run.partition->gpus_per_node;
}

// The largest number of data-parallel ranks that divides the batch and fills whole nodes; a divisor
// of `most` if that is required.
std::int64_t ranks_for(const Run& run, std::int64_t global_batch, std::int64_t most, bool divide) {
  for (auto ranks = most; ranks > 1; --ranks)
    if ((!divide || most % ranks == 0) && global_batch % (ranks * run.batch.micro_batch) == 0 &&
        fills_nodes(run, ranks))
      return ranks;
  return 1;
}

// Cuts the ramp-up into at most run.batch.rampup->phases phases, each with the largest number of
// ranks that divides all its batches. Dynamic programming maximises samples times ranks over all
// cuts. The full batch has all ranks, and the number of ranks never decreases.
class RampCuts {
 public:
  RampCuts(const Run& run, const std::vector<RampStep>& steps) : run_(run), steps_(steps) {
    const auto most = static_cast<std::size_t>(run.batch.rampup->phases);
    best_.assign(most + 1, std::vector<Cut>(steps.size()));
    for (auto& row : best_)
      row.back() = {steps.back().samples * static_cast<double>(full()), steps.size(), full()};
    for (std::size_t phases = 1; phases <= most; ++phases)
      for (auto i = steps.size() - 1; i-- > 0;) best_[phases][i] = best_cut(phases, i);
  }

  std::vector<std::int64_t> ranks() const {
    std::vector<std::int64_t> out;
    for (std::size_t phases = best_.size() - 1, i = 0; i < steps_.size();) {
      const auto& cut = best_[phases][i];
      out.insert(out.end(), cut.end - i, cut.ranks);
      i = cut.end;
      if (phases > 1) --phases;
    }
    return out;
  }

 private:
  struct Cut {
    double value = -1;  // -1: impossible
    std::size_t end = 0;
    std::int64_t ranks = 1;
  };

  std::int64_t full() const { return run_.layout.data_parallel; }

  Cut best_cut(std::size_t phases, std::size_t begin) const {
    Cut best;
    std::int64_t shared = 0;
    double samples = 0;
    for (auto end = begin; end < steps_.size(); ++end) {
      shared = std::gcd(shared, steps_[end].global_batch);
      samples += steps_[end].samples;
      const auto ranks = ranks_for(run_, shared, full(), false);
      const bool last = end + 1 == steps_.size();
      const double value = samples * static_cast<double>(ranks);
      if (last && ranks == full() && value > best.value) best = {value, steps_.size(), full()};
      if (last || phases == 1) continue;
      const auto& rest = best_[phases - 1][end + 1];
      if (rest.value >= 0 && ranks < rest.ranks && value + rest.value > best.value)
        best = {value + rest.value, end + 1, ranks};
    }
    return best;
  }

  const Run& run_;
  const std::vector<RampStep>& steps_;
  std::vector<std::vector<Cut>> best_;  // by number of phases left, and first step
};

// The number of ranks at each step. With fewer_nodes they never decrease: computed from the end,
// each step's number divides the next one's.
std::vector<std::int64_t> ranks_of(const Run& run, const std::vector<RampStep>& steps) {
  std::vector<std::int64_t> ranks(steps.size(), run.layout.data_parallel);
  if (!run.batch.rampup || !run.batch.rampup->fewer_nodes) return ranks;
  if (run.batch.rampup->phases == 1) return ranks;
  if (run.batch.rampup->phases > 2) return RampCuts(run, steps).ranks();
  for (auto i = static_cast<std::ptrdiff_t>(steps.size()) - 2; i >= 0; --i) {
    const auto step = static_cast<std::size_t>(i);
    ranks[step] = ranks_for(run, steps[step].global_batch, ranks[step + 1], true);
  }
  return ranks;
}

std::int64_t nodes_for(const Run& run, std::int64_t ranks) {
  const auto gpus = ranks * run.layout.copy();
  return (gpus + run.partition->gpus_per_node - 1) / run.partition->gpus_per_node;
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
  const auto add = [&](const Param& param, const Value& value) {
    if (!out.empty()) out += ' ';
    out += param.name + "=" + plain(value);
  };
  const bool has_flash = has_flash_attention(run);
  const auto default_of = [&](const Param& param) -> const Value& {
    static const Value kTrue = true;
    return has_flash && param.name == "flash_attention" ? kTrue : param.default_value;
  };
  for_each_variation(run, default_of, add);
  for_each_swept(run, add);
  if (!run.framework.empty())
    out += fmt::format("{}framework={}", out.empty() ? "" : " ", run.framework);
  if (!run.args.empty()) {  // spaces stand between settings
    auto words = printable(join(run.args, ","));
    std::ranges::replace(words, ' ', '_');
    out += " args=" + words;
  }
  if (!run.launch.empty()) out += " launch=" + run.launch;
  if (run.repeat > 1) out += fmt::format("{}repeat={}", out.empty() ? "" : " ", run.repeat);
  return out;
}

// The most important parts come first: a long label is cut, and the hash behind it keeps ids
// unique. A setting is included where it differs from the parameter's own default: the default for
// a GPU may be learnt later, and a run that is given a value must keep its name.
std::string label(const Run& run) {
  std::string out;
  out.reserve(2 * kLongestLabel);
  out += fmt::format("{}-{}-{}gpu", run.model.name, run.strategy->name, run.gpus);
  if (run.layout.tensor_parallel > 1) out += fmt::format("-tp{}", run.layout.tensor_parallel);
  if (run.layout.pipeline_parallel > 1) out += fmt::format("-pp{}", run.layout.pipeline_parallel);
  if (run.layout.context_parallel > 1) out += fmt::format("-cp{}", run.layout.context_parallel);
  out += fmt::format("-dp{}-mb{}", run.layout.data_parallel, run.batch.micro_batch);
  for (const auto& part : {run.framework, run.launch})
    if (!part.empty()) out += "-" + part;
  for_each_variation(
      run, [](const Param& param) -> const Value& { return param.default_value; },
      [&](const Param& param, const Value& value) { out += "-" + short_form(param, value); });
  for_each_swept(
      run, [&](const Param& param, const Value& value) { out += "-" + param.name + plain(value); });
  if (run.repeat > 1) out += fmt::format("-r{}", run.repeat);
  out = only_safe_characters(std::move(out));
  return out.substr(0, kLongestLabel);
}

std::int64_t Run::batch_at(std::int64_t consumed_samples) const {
  const auto& rampup = batch.rampup;
  if (!rampup || consumed_samples >= rampup->samples) return batch.global_batch;
  const auto increments = (batch.global_batch - rampup->start) / rampup->step;
  return rampup->start + consumed_samples * increments / rampup->samples * rampup->step;
}

namespace {

// The number of steps of a ramp-up at the batch it has after `samples` samples, until it grows.
std::int64_t steps_at_level(const Batch& batch, std::int64_t size, std::int64_t consumed,
                            std::int64_t all) {
  const auto increments = (batch.global_batch - batch.rampup->start) / batch.rampup->step;
  const auto next = (size - batch.rampup->start) / batch.rampup->step + 1;
  // The first sample at which the batch is larger.
  const auto end = std::min(all, (next * batch.rampup->samples + increments - 1) / increments);
  return (end - consumed + size - 1) / size;
}

}  // namespace

// Computes what a loop over batch_at() would count, one ramp level at a time instead of one step.
std::int64_t Run::steps_of_all_tokens() const {
  const auto all = static_cast<std::int64_t>(std::ceil(samples()));
  std::int64_t count = 0, consumed = 0;
  while (consumed < all && batch_at(consumed) != batch.global_batch) {
    const auto size = batch_at(consumed);
    const auto taken = steps_at_level(batch, size, consumed, all);
    count += taken;
    consumed += taken * size;
  }
  return count +
         std::max<std::int64_t>(0, all - consumed + batch.global_batch - 1) / batch.global_batch;
}

std::int64_t Run::samples_of(std::int64_t count) const {
  std::int64_t consumed = 0;
  while (count > 0 && batch_at(consumed) != batch.global_batch) {
    const auto size = batch_at(consumed);
    const auto taken = std::min(
        count, steps_at_level(batch, size, consumed, std::numeric_limits<std::int64_t>::max()));
    count -= taken;
    consumed += taken * size;
  }
  return consumed + count * batch.global_batch;
}

std::string Run::resolve(const std::string& path, const std::string& run_folder) const {
  namespace fs = std::filesystem;
  if (path.empty() || fs::path(path).is_absolute()) return path;
  return (fs::absolute(run_folder) / paths_from / path).lexically_normal().string();
}

FrameworkName framework_name(const std::string& framework) {
  const auto at = std::min(framework.find('@'), framework.size());
  return {framework.substr(0, at), framework.substr(std::min(at + 1, framework.size()))};
}

Value default_engine(const Param& engine, const std::string& framework) {
  if (framework.empty()) return engine.default_value;
  const auto name = framework_name(framework).name;
  // torchtitan stores the same activations as Megatron-LM, and has neither DeepSpeed's waits nor
  // nanotron's sums.
  constexpr std::array kOfMegatron{"megatron-bridge", "megatron-core", "megatron-lm", "nemo",
                                   "primus",          "torchtitan"};
  const char* own = name.starts_with("megatron-deepspeed") ? "deepspeed"
                    : name == "nanotron"                   ? "nanotron"
                    : contains(kOfMegatron, name)          ? "megatron"
                                                           : "";
  for (const std::string known : {own, "framework"})
    if (contains(engine.choices, known)) return known;
  return engine.default_value;
}

std::string default_stack(const Run& run) {
  if (!run.framework.empty()) return run.framework;
  if (run.trainer.empty()) return "orch-" + run.strategy->backend;
  return std::filesystem::path(run.trainer).filename().string();
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

Run run_in(const Run& run, const Phase& phase) {
  Run part = run;
  part.layout.data_parallel = phase.data_parallel;
  part.gpus = part.layout.ranks();
  part.nodes = phase.nodes;
  part.batch.global_batch = phase.last_batch;
  part.batch.accumulate = phase.last_batch / (phase.data_parallel * run.batch.micro_batch);
  part.batch.rampup.reset();
  return part;
}

std::vector<Phase> phases(const Run& run) {
  auto steps = ramp_steps(run.batch);
  double ramp_samples = 0;
  for (const auto& step : steps) ramp_samples += step.samples;
  steps.push_back({run.batch.global_batch, std::max(0.0, run.samples() - ramp_samples)});

  const auto ranks = ranks_of(run, steps);
  std::vector<Phase> phases;
  double done = 0;  // rounded at the ends of phases only, so that no sample is lost
  std::int64_t counted = 0;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    if (phases.empty() || phases.back().data_parallel != ranks[i])
      phases.push_back({steps[i].global_batch, 0, 0, ranks[i], nodes_for(run, ranks[i])});
    done += steps[i].samples;
    phases.back().last_batch = steps[i].global_batch;
    phases.back().samples += std::llround(done) - counted;
    counted = std::llround(done);
  }
  return phases;
}

}  // namespace orch::plan
