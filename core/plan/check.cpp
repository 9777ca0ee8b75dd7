#include "core/plan/check.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>

#include "core/base/multiples.h"
#include "core/base/text.h"
#include "core/base/units.h"
#include "core/plan/family.h"
#include "core/plan/number_format.h"

namespace orch::plan {
namespace {

using ErrorList = std::vector<Error>;

constexpr std::int64_t kMostRampSteps = 10'000;
constexpr std::int64_t kMostCutSteps = 1'000;  // finding the best cuts takes time quadratic in this

void check_ranks(const Run& run, ErrorList& reasons) {
  const auto& layout = run.layout;
  if (layout.ranks() == run.gpus) return;
  const auto per_copy = layout.copy();
  const auto context =
      layout.context_parallel > 1 ? fmt::format(" x context {}", layout.context_parallel) : "";
  const auto below = std::max<std::int64_t>(1, run.gpus / per_copy) * per_copy;
  reasons.push_back(
      {"gpus",
       fmt::format("data {} x tensor {} x pipeline {}{} = {} ranks on {} GPU{}",
                   layout.data_parallel, layout.tensor_parallel, layout.pipeline_parallel, context,
                   layout.ranks(), run.gpus, run.gpus == 1 ? "" : "s"),
       below == run.gpus
           ? fmt::format("set data_parallel = {} or gpus = {}", run.gpus / per_copy, layout.ranks())
           : fmt::format("use a multiple of {} GPUs, such as {}", per_copy, below)});
}

void check_nodes(const Run& run, const Budget& budget, ErrorList& reasons) {
  const auto per_node = run.partition->gpus_per_node;
  if (run.gpus > per_node && run.gpus % per_node != 0)
    reasons.push_back({"gpus", fmt::format("{} GPUs do not fill nodes of {}", run.gpus, per_node),
                       fmt::format("use {} or {}", run.gpus / per_node * per_node,
                                   (run.gpus / per_node + 1) * per_node)});
  else if (run.nodes != (run.gpus + per_node - 1) / per_node)
    reasons.push_back(
        {"nodes", fmt::format("{} nodes of {} GPUs are not {} GPUs", run.nodes, per_node, run.gpus),
         "give gpus or nodes, not both"});
  const auto available = run.partition->nodes - budget.reserve_nodes;
  const auto spare = run.job.spare_nodes.value_or(0);
  if (run.nodes + spare <= available) return;
  const auto held = budget.reserve_nodes > 0
                        ? fmt::format(" less {} held in reserve", budget.reserve_nodes)
                        : std::string();
  reasons.push_back({"nodes",
                     fmt::format("{} nodes{}, but {} has {}{}", run.nodes,
                                 spare > 0 ? fmt::format(" and {} spare", spare) : "",
                                 run.partition->name, run.partition->nodes, held),
                     fmt::format("use at most {} GPUs",
                                 std::max<std::int64_t>(0, available - spare) * per_node)});
}

// A limit that cannot be compared with anything must not count as kept.
void check_expense(const Run& run, const Budget& budget, ErrorList& reasons) {
  const auto& partition = *run.partition;
  const auto need = [&](double limit, double known, const char* name, const char* what,
                        const char* example) {
    if (limit <= 0 || known > 0) return;
    reasons.push_back({fmt::format("budget.{}", name),
                       fmt::format("{}/{} has no {}", run.cluster->name, partition.name, what),
                       fmt::format("add to the cluster's file: operation: {{ {} }}", example)});
  };
  const double watts = partition.busy_watts();
  need(budget.money, partition.price_per_gpu_hour(), "money", "price",
       "price: { value: 2.50 EUR, origin: \"…\" }");
  need(budget.energy_kwh, watts, "energy_kwh", "watts", "watts: { value: 400 W, origin: \"…\" }");
  need(budget.co2_kg, watts * partition.operation.gco2_per_kwh.value, "co2_kg",
       "watts or no gco2_per_kwh", "gco2_per_kwh: { value: 57, origin: \"…\" }");
}

void check_batch(const Run& run, ErrorList& reasons) {
  const auto& batch = run.batch;
  const auto shared = batch.micro_batch * run.layout.data_parallel;
  const double product = static_cast<double>(shared) * static_cast<double>(batch.accumulate);
  if (static_cast<double>(batch.global_batch) == product) return;
  const auto fact = fmt::format(
      "{} samples, but micro_batch {} x accumulate {} x data_parallel {} = {:.0f}",
      batch.global_batch, batch.micro_batch, batch.accumulate, run.layout.data_parallel, product);
  const auto below = batch.global_batch / shared * shared;
  reasons.push_back({"global_batch", fact,
                     below > 0 ? fmt::format("use a multiple of micro_batch x data_parallel = {}: "
                                             "{} or {}",
                                             shared, below, below + shared)
                               : fmt::format("use at least {}", shared)});
}

// Reports the first level of a ramp-up that micro_batch times the ranks does not divide: all ranks
// or, where fewer nodes may begin, one. What divides start and step divides every level.
void check_levels(const Run& run, const RampUp& rampup, ErrorList& reasons) {
  const auto micro_batch = run.batch.micro_batch;
  const auto ranks = rampup.fewer_nodes ? 1 : run.layout.data_parallel;
  const auto levels = ramp_steps(run.batch);
  const auto bad = std::find_if(levels.begin(), levels.end(), [&](const RampStep& level) {
    return level.global_batch % (micro_batch * ranks) != 0;
  });
  if (bad == levels.end()) return;
  const auto product = rampup.fewer_nodes ? fmt::format("micro_batch {}", micro_batch)
                                          : fmt::format("micro_batch {} x data_parallel {} = {}",
                                                        micro_batch, ranks, micro_batch * ranks);
  const auto shared = std::gcd(rampup.start, rampup.step);
  std::string fix;
  if (shared % ranks == 0)
    fix = fmt::format("micro_batch = {} divides every level; or ",
                      divisor_below(shared / ranks, micro_batch));
  fix += fmt::format("let start and step be multiples of {}", micro_batch * ranks);
  if (!rampup.fewer_nodes && shared % micro_batch == 0)
    fix += ", or set fewer_nodes = true to begin on fewer nodes";
  reasons.push_back(
      {"batch.rampup",
       fmt::format("level {} of {}, global batch {}, is not a multiple of {}",
                   bad - levels.begin() + 1, levels.size() + 1, bad->global_batch, product),
       fix});
}

// The batch must divide at every step of the ramp-up, not only at its end.
void check_rampup(const Run& run, ErrorList& reasons, ErrorList& warnings) {
  if (!run.batch.rampup) return;
  const auto& rampup = *run.batch.rampup;
  const auto full = run.batch.global_batch;
  if (rampup.start > full || (full - rampup.start) % rampup.step != 0) {
    reasons.push_back(
        {"batch.rampup",
         fmt::format("steps of {} from {} do not end at {}", rampup.step, rampup.start, full),
         "choose a step that divides global_batch - start"});
    return;
  }
  if (const auto steps = (full - rampup.start) / rampup.step;
      rampup.phases > 2 && steps > kMostCutSteps) {
    reasons.push_back(
        {"batch.rampup",
         fmt::format("{} steps from {} to {} in up to {} phases", steps, rampup.start, full,
                     rampup.phases),
         fmt::format("choose a larger step (at most {} of them), or two phases", kMostCutSteps)});
    return;
  }
  if (const auto steps = (full - rampup.start) / rampup.step; steps > kMostRampSteps) {
    reasons.push_back({"batch.rampup",
                       fmt::format("{} steps from {} to {}", steps, rampup.start, full),
                       fmt::format("choose a larger step: at most {} of them", kMostRampSteps)});
    return;
  }
  if (run.tokens > 0 && static_cast<double>(rampup.samples) > run.samples())
    reasons.push_back({"batch.rampup",
                       fmt::format("takes {} samples, and the training ends after {}",
                                   group_digits(static_cast<double>(rampup.samples)),
                                   group_digits(run.samples())),
                       "use fewer samples, or more tokens"});
  check_levels(run, rampup, reasons);
  const auto full_pipe =
      run.layout.pipeline_parallel * run.batch.micro_batch * run.layout.data_parallel;
  if (run.layout.pipeline_parallel > 1 && rampup.start < full_pipe && !rampup.fewer_nodes)
    warnings.push_back({"batch.rampup",
                        fmt::format("the pipeline is not full before global batch {}", full_pipe),
                        fmt::format("start at {}", full_pipe)});
}

constexpr std::array kWideFormats{"bf16", "fp16", "fp32"};

void check_format(const Run& run, ErrorList& reasons) {
  const auto dtype = run.dtype();
  const auto& gpu = run.partition->gpu;
  if (gpu.peak(dtype).value > 0) return;
  std::vector<std::string> formats;
  for (const auto& [format, peak] : gpu.peaks)
    if (peak.value > 0) formats.push_back(format);
  const auto better = std::ranges::find_if(
      kWideFormats, [&](const char* format) { return gpu.peak(format).value > 0; });
  reasons.push_back(
      {"dtype", fmt::format("{} cannot compute in {}", gpu.name, dtype),
       fmt::format("use dtype = \"{}\"; it has peaks of {}",
                   better == kWideFormats.end() ? "fp32" : *better, join(formats, ", "))});
}

// Without this check, powersgd_rank = 4 without compression = "powersgd" would be silently ignored.
void check_choices(const Run& run, ErrorList& reasons) {
  for (std::size_t i = 0; i < run.settings.size(); ++i) {
    const auto& param = run.strategy->params[i];
    if (param.parent.empty() || run.settings[i] == param.default_value) continue;
    if (run.text_setting(param.parent) != param.choice)
      reasons.push_back(
          {param.name,
           fmt::format("has no effect with {} = {}", param.parent, show(run.setting(param.parent))),
           fmt::format("write {} = {}{{ {} = ... }}", param.parent, param.choice, param.field())});
  }
}

// Each job of a ramp-up begins with the checkpoint of the one before.
void check_phases(const Run& run, ErrorList& reasons) {
  if (run.training.keep_checkpoints > 0 || !run.batch.rampup) return;
  const auto jobs = phases(run);
  if (jobs.size() < 2) return;
  const auto& first = jobs.front();
  if (run.steps > 0 && run.steps * first.last_batch <= first.samples) return;
  reasons.push_back({"training.keep_checkpoints",
                     fmt::format("0 writes no checkpoints, but the {} jobs of the ramp-up "
                                 "continue from each other's",
                                 jobs.size()),
                     "keep at least one"});
}

// A short job that only measures may stop within the warm-up; a training may not. check_training
// checks the rest of the section once per experiment.
void check_warmup(const Run& run, ErrorList& reasons, ErrorList& warnings) {
  const auto warmup = run.training.warmup_steps;
  const auto complain = [&](std::int64_t steps, ErrorList& to) {
    to.push_back({"training.warmup_steps",
                  fmt::format("warmup_steps is {}, but the run has {} steps", warmup, steps),
                  fmt::format("use at most {}, or train for more steps", steps)});
  };
  if (warmup == 0) return;
  if (const auto all = run.steps_of_all_tokens(); warmup > all)
    complain(all, reasons);
  else if (run.steps > 0 && warmup > run.steps)
    complain(run.steps, warnings);
}

void check_amount(const Run& run, ErrorList& warnings) {
  if (run.tokens < run.tokens_per_step())
    warnings.push_back({"tokens",
                        fmt::format("{} are less than one step of {}", format_tokens(run.tokens),
                                    format_tokens(run.tokens_per_step())),
                        "train on more tokens or shrink the batch"});
}

}  // namespace

void check_layout(const Run& run, const Budget& budget, ErrorList& reasons, ErrorList& warnings) {
  check_ranks(run, reasons);
  check_nodes(run, budget, reasons);
  check_expense(run, budget, reasons);
  check_batch(run, reasons);
  check_rampup(run, reasons, warnings);
  if (reasons.empty()) check_phases(run, reasons);
  check_model(run.model, reasons);
}

void check_settings(const Run& run, ErrorList& reasons) {
  check_format(run, reasons);
  check_choices(run, reasons);
}

bool is_checked(const Strategy& strategy, const Param& param) {
  return param.name == "dtype" || !param.parent.empty() ||
         contains(mapped(strategy.params, &Param::parent), param.name);
}

void check_length(const Run& run, ErrorList& reasons, ErrorList& warnings) {
  check_warmup(run, reasons, warnings);
  check_amount(run, warnings);
}

void check(const Run& run, const Budget& budget, ErrorList& reasons, ErrorList& warnings) {
  check_layout(run, budget, reasons, warnings);
  check_settings(run, reasons);
  check_length(run, reasons, warnings);
}

void check_sizes(const Run& run, ErrorList& reasons) {
  ErrorList unwise;
  check_ranks(run, reasons);
  check_batch(run, reasons);
  check_rampup(run, reasons, unwise);
  check_model(run.model, reasons);
}

void check_anywhere(const Run& run, ErrorList& reasons) {
  check_ranks(run, reasons);
  check_batch(run, reasons);
  check_model(run.model, reasons);
  check_settings(run, reasons);
}

void check_calendar(const Run& run, const Calendar& calendar, std::vector<Error>& reasons) {
  const auto most = calendar.most_nodes();
  if (most && run.nodes > *most)
    reasons.push_back({"availability",
                       fmt::format("{} nodes, but at most {} are ever available", run.nodes, *most),
                       *most > 0 ? fmt::format("use {} nodes, or add a window that has more", *most)
                                 : "add a window that has some"});
}

Status check_dates(const Experiment& experiment) {
  const auto& deadline = experiment.budget.deadline;
  const auto& start = experiment.calendar.start;
  const auto place = experiment.file + ": budget.deadline";
  if (deadline && !start)
    return Error{place, "no start date is given", "write start = \"YYYY-MM-DD\", or give --start"};
  if (deadline && *deadline < *start)
    return Error{
        place,
        fmt::format("{} is before the start on {}", format_date(*deadline), format_date(*start)),
        "move the deadline, or the start (start = \"YYYY-MM-DD\", --start)"};
  return {};
}

std::string cannot_train(const Run& run) {
  if (!family_of(run.model).trains)
    return fmt::format("{} models are planned and estimated, not trained", run.model.family);
  if (run.layout.context_parallel > 1)
    return "context_parallel is planned and estimated, not trained";
  if (is_narrow(run.dtype())) return run.dtype() + " is planned and estimated, not trained";
  const auto& sharded = run.setting("zero_stage");  // a setting of megatron
  if (const auto* stage = std::get_if<std::int64_t>(&sharded); stage && *stage > 1)
    return fmt::format("zero_stage = {} is planned and estimated, not trained", *stage);
  return "";
}

bool has_limits(const Budget& budget) {
  return budget.gpu_hours > 0 || limits_expense(budget) || budget.deadline_days > 0 ||
         budget.deadline;
}

bool limits_expense(const Budget& budget) {
  return budget.money > 0 || budget.energy_kwh > 0 || budget.co2_kg > 0;
}

bool keeps_limits(const Experiment& experiment, const Expense& expense,
                  const std::vector<Portion>& portions) {
  const auto& budget = experiment.budget;
  const auto& calendar = experiment.calendar;
  for (const auto& each : kExpenseLimits)
    if (budget.*each.limit > 0 && expense.*each.amount > budget.*each.limit) return false;
  if (budget.deadline_days > 0 && calendar.calendar_days(portions) > budget.deadline_days)
    return false;
  if (!budget.deadline) return true;
  const auto end = calendar.end(portions);
  return end && *end <= *budget.deadline;
}

}  // namespace orch::plan
