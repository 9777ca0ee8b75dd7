#include <fmt/format.h>

#include <algorithm>

#include "core/base/units.h"
#include "core/report/report.h"
#include "core/report/words.h"

namespace orch::report {
namespace {

using Rows = std::vector<std::vector<std::string>>;

std::string share(double part, double total) { return fmt::format("{:.1f}%", 100 * part / total); }

Rows time_rows(const plan::Estimate& estimate) {
  Rows rows{{"seconds", "share", "item", "how"}};
  for (const auto& item : estimate.time)
    rows.push_back({fmt::format("{:.4f}", item.amount), share(item.amount, estimate.step_seconds),
                    item.name, item.formula});
  double sum = 0;
  for (const auto& item : estimate.time) sum += item.amount;
  rows.push_back({fmt::format("{:.4f}", sum), share(sum, estimate.step_seconds), "one step", ""});
  return rows;
}

Rows memory_rows(const plan::StageMemory& stage) {
  Rows rows{{"bytes", "share", "item", "how"}};
  double sum = 0;
  for (const auto& item : stage.items) {
    sum += item.amount;
    rows.push_back(
        {group_digits(item.amount), share(item.amount, stage.total), item.name, item.formula});
  }
  rows.push_back({group_digits(sum), share(sum, stage.total), format_gib(sum) + " GiB", ""});
  return rows;
}

bool is_fullest(const plan::StageMemory& stage, const plan::Estimate& estimate) {
  return estimate.peak_stage >= stage.first_stage && estimate.peak_stage <= stage.last_stage;
}

const plan::StageMemory& fullest_stage(const plan::Estimate& estimate) {
  return *std::find_if(estimate.memory.begin(), estimate.memory.end(),
                       [&](const auto& stage) { return is_fullest(stage, estimate); });
}

Rows stage_rows(const plan::Estimate& estimate) {
  Rows rows{{"stages", "GiB", "of usable"}};
  for (const auto& stage : estimate.memory)
    rows.push_back({stage.first_stage == stage.last_stage
                        ? std::to_string(stage.first_stage)
                        : fmt::format("{} to {}", stage.first_stage, stage.last_stage),
                    format_gib(stage.total), share(stage.total, estimate.usable_memory)});
  return rows;
}

std::string stage_title(const plan::StageMemory& stage, const plan::Planned& p) {
  std::string title = "Memory of one GPU";
  if (p.run.layout.pipeline_parallel > 1)
    title += stage.first_stage == stage.last_stage
                 ? fmt::format(", stage {}", stage.first_stage)
                 : fmt::format(", stages {} to {}", stage.first_stage, stage.last_stage);
  return title + (is_fullest(stage, p.estimate) ? ", the fullest" : "");
}

std::string head(const plan::Planned& p, const Screen& screen) {
  const auto& r = p.run;
  const auto& e = p.estimate;
  const auto variant = plan::variant(r);
  std::string out = paint(p.id, "1", screen) + "\n";
  out += fmt::format("  {}{}{} on {} x {} ({}/{})\n", r.strategy->name, variant.empty() ? "" : " ",
                     variant, r.gpus, r.partition->gpu.name, r.cluster->name, r.partition->name);
  out += fmt::format(
      "  {}: {} parameters; {} layers x {} hidden, {} heads of {}, vocabulary {}, {} tokens\n",
      r.model.name, group_digits(r.model.params()), r.model.layers, r.model.hidden, r.model.heads,
      r.model.head_dim(), r.model.vocab, r.model.seq);
  out += fmt::format(
      "  tensor {} x pipeline {} x data {}; micro-batch {} x accumulate {} x data {} = {} "
      "samples\n",
      r.layout.tensor_parallel, r.layout.pipeline_parallel, r.layout.data_parallel,
      r.batch.micro_batch, r.batch.accumulate, r.layout.data_parallel, r.batch.global_batch);
  out += fmt::format(
      "  step {:.4g} s, {} tokens/s, {:.4g} days per 100B tokens, {:.4g} days and {} GPU-hours for "
      "{} tokens\n",
      e.step_seconds, group_digits(e.tokens_per_second), e.days_per_100b_tokens, e.days_to_train,
      group_digits(e.gpu_hours), format_tokens(r.tokens));
  const auto hours = e.range_of(e.gpu_hours);
  out += fmt::format("  90 % range: step {:.4g} to {:.4g} s, {} days, {} to {} GPU-hours\n",
                     e.step_low, e.step_high, range_text(e.range_of(e.days_to_train)),
                     group_digits(hours.low), group_digits(hours.high));
  out += fmt::format("  {:.4g} TFLOPs per GPU (megatron), {:.4g} (simple), MFU {:.1f}%\n",
                     e.tflops_per_gpu, e.tflops_per_gpu_simple, 100 * e.mfu);
  out +=
      fmt::format("  memory: {} ({} of {} GiB usable; 90 % range {} to {}){}{}\n", name(e.fit),
                  format_gib(e.peak_memory), format_gib(e.usable_memory), format_gib(e.memory_low),
                  format_gib(e.memory_high), e.fit_reason.empty() ? "" : ": ", e.fit_reason);
  return out;
}

}  // namespace

std::string explain(const plan::Planned& p, const plan::Calendar& calendar, const Screen& screen) {
  auto top = head(p, screen);
  if (calendar.start)
    top += fmt::format("  begins {} and {}\n", format_date(*calendar.start),
                       ends_text(calendar, p.estimate));
  std::string out = wrap(top, screen) + "\n";
  out += paint("Schedule", "1", screen) + "\n" + schedule(p.estimate, calendar, screen) + "\n";
  out += paint("Time of one step, slowest stage", "1", screen) + "\n";
  out += grid(time_rows(p.estimate), screen);
  const auto& fullest = fullest_stage(p.estimate);
  out += "\n" + paint(stage_title(fullest, p), "1", screen) + "\n" +
         grid(memory_rows(fullest), screen);
  if (p.estimate.memory.size() > 1)
    out += "\n" + paint("Memory by stage (--format json has the items of each)", "1", screen) +
           "\n" + grid(stage_rows(p.estimate), screen);
  if (p.estimate.host_memory > 0)
    out += fmt::format("\nHost memory per node: {} of {}\n", format_bytes(p.estimate.host_memory),
                       format_bytes(p.run.partition->host_memory.value));
  for (const auto& warning : p.run.warnings)
    out += wrap("\nwarning: " + warning.text() + "\n", screen);
  return out;
}

}  // namespace orch::report
