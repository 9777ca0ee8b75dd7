#include <fmt/format.h>

#include <algorithm>

#include "core/base/text.h"
#include "core/base/units.h"
#include "core/plan/stack.h"
#include "core/record/quantities.h"
#include "core/show/tables/compared.h"
#include "core/show/tables/report.h"
#include "core/show/tables/words.h"

namespace orch::tables {
namespace {

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

Rows memory_rows(const std::vector<plan::Item>& items) {
  Rows rows{{"bytes", "share", "item", "how"}};
  double sum = 0;
  for (const auto& item : items) sum += item.amount;
  for (const auto& item : items)
    rows.push_back({group_digits(item.amount), share(item.amount, sum), item.name, item.formula});
  rows.push_back({group_digits(sum), share(sum, sum), format_gib(sum) + " GiB", ""});
  return rows;
}

Rows stage_rows(const plan::Estimate& estimate) {
  Rows rows{{"stages", "GiB", "of usable"}};
  for (const auto& stage : estimate.memory)
    rows.push_back({stages_text(stage.first_stage, stage.last_stage), format_gib(stage.total), share(stage.total, estimate.usable_memory)});
  return rows;
}

std::string stage_title(const plan::StageMemory& fullest, const plan::Planned& p) {
  if (p.run.layout.pipeline_parallel == 1) return "Memory of one GPU, the fullest";
  return fmt::format("Memory of one GPU, stage{} {}, the fullest",
                     fullest.first_stage == fullest.last_stage ? "" : "s",
                     stages_text(fullest.first_stage, fullest.last_stage));
}

// Between which stacks was chosen, the nearest first.
std::string choice_text(const plan::Run& run) {
  auto stacks = plan::stacks_for(run);
  if (stacks.size() < 2) return "";
  const auto far = [&](const plan::OnStack* on) { return plan::farness(run, *on); };
  std::ranges::stable_sort(stacks, {}, far);
  const auto parts = mapped(stacks, [&](const plan::OnStack* on) {
    return fmt::format("{} {:.2f}", on->stack->name, far(on));
  });
  return fmt::format("  how far its rows are (machine, sizes, settings, date): {}\n", join(parts, ", "));
}

std::string head(const plan::Planned& p, const Screen& screen) {
  const auto& r = p.run;
  const auto& e = p.estimate;
  const auto variant = plan::variant(r);
  std::string out = paint(p.run.id, "1", screen) + "\n";
  out += fmt::format("  {}{}{} on {} x {} ({}/{})\n", r.strategy->name, variant.empty() ? "" : " ",
                     variant, r.gpus, r.partition->gpu.name, r.cluster->name, r.partition->name);
  out += fmt::format(
      "  {}: {} parameters{}; {} layers x {} hidden, {} heads of {}{}, vocabulary {}, {} tokens\n",
      r.model.name, group_digits(r.model.params()),
      r.model.mixture() ? fmt::format(", {} for a token", group_digits(r.model.active_params())) : "",
      r.model.layers, r.model.hidden, r.model.heads, r.model.head_dim,
      r.model.kv_heads != r.model.heads ? fmt::format(" on {} of keys and values", r.model.kv_heads)
                                        : "",
      r.model.vocab, r.model.seq);
  out += fmt::format(
      "  tensor {} x pipeline {}{} x data {}; micro-batch {} x accumulate {} x data {} = {} "
      "samples\n",
      r.layout.tensor_parallel, r.layout.pipeline_parallel,
      r.layout.context_parallel > 1 ? fmt::format(" x context {}", r.layout.context_parallel) : "",
      r.layout.data_parallel,
      r.batch.micro_batch, r.batch.accumulate, r.layout.data_parallel, r.batch.global_batch);
  out += fmt::format(
      "  step {:.4g} s, {} tokens/s, {:.4g} days per 100B tokens, {:.4g} days and {} GPU-hours for "
      "{} tokens\n",
      e.step_seconds, group_digits(e.tokens_per_second), e.days_per_100b_tokens, e.days_to_train,
      group_digits(e.gpu_hours), format_tokens(r.tokens));
  if (const auto training = changes(r.training); !training.empty())
    out += fmt::format("  training: {}\n", training);
  const auto hours = e.range_of(e.gpu_hours);
  out += fmt::format("  90 % range: step {:.4g} to {:.4g} s, {} days, {} to {} GPU-hours\n",
                     e.step_low, e.step_high, range_text(e.range_of(e.days_to_train)),
                     group_digits(hours.low), group_digits(hours.high));
  if (!e.stack.empty())
    out += fmt::format("  priced as {}{}{}\n", e.stack, e.remarks.empty() ? "" : ": ",
                       join(e.remarks, "; "));
  out += choice_text(r);
  for (const auto& other : others_text(e)) out += fmt::format("  {}\n", other);
  out += fmt::format("  {:.4g} TFLOPs per GPU (megatron), {:.4g} (simple), MFU {:.1f}%\n",
                     e.tflops_per_gpu, e.tflops_per_gpu_simple, 100 * e.mfu);
  out +=
      fmt::format("  memory: {} ({} of {} GiB usable; 90 % range {} to {}){}{}\n", name(e.fit),
                  format_gib(e.peak_memory), format_gib(e.usable_memory), format_gib(e.memory_low),
                  format_gib(e.memory_high), e.fit_reason.empty() ? "" : ": ", e.fit_reason);
  return out;
}

// "192–2032", or the one value where both are the same.
std::string span_text(const std::string& first, const std::string& last) {
  return first == last ? first : first + "–" + last;
}

std::string place_text(const plan::Calendar& calendar, double days) {
  if (!calendar.start) return fmt::format("day {:.1f}", days);
  return day_text(calendar.date(days));
}

std::string measured_text(const plan::Planned& p, const record::Measurement& measured,
                          const Screen& screen) {
  std::string out;
  if (!measured.time_items.empty() || measured.step_seconds)
    out += titled("Measured: seconds of one step",
                  compared_rows(compare_time(p.estimate, measured), false), screen);
  if (!measured.memory_items.empty() || measured.peak_memory_bytes)
    out += titled("Measured: bytes of one rank",
                  compared_rows(compare_memory(p.estimate, measured), true), screen);
  if (const auto host = compare_host_memory(p.estimate, measured); !host.items.empty())
    out += titled("Measured: bytes of one rank on the host", compared_rows(host, true), screen);
  return out;
}

// What the supervisor of a local run noted of the machine; empty: nothing.
std::string machine_note(const record::Measurement& measured) {
  const auto noted = [&](const char* name) { return record::measured(*record::find_quantity(name), measured); };
  std::vector<std::string> parts;
  if (const auto others = noted("others_share"))
    parts.push_back(fmt::format("other programs used {:.0f} % of the machine{}", 100 * others->value,
                                others->value < record::kBusyShare ? "" : ": measure again when it is idle"));
  if (const auto clock = noted("clock_mhz"))
    parts.push_back(fmt::format("its clock was {} MHz", group_digits(clock->value)));
  return parts.empty() ? "" : "\nWhile it trained, " + join(parts, "; ") + "\n";
}

// Every quantity that is estimated, with its range where it has one.
Rows quantity_rows(const plan::Planned& p) {
  Rows rows{{"quantity", "estimated", "90 % range", "name"}};
  for (const auto& quantity : record::quantities()) {
    const auto value = record::estimated(quantity, p.estimate);
    if (!value) continue;
    const auto text = [&](double number) { return quantity_text(quantity.unit, number); };
    rows.push_back({std::string(quantity.title), text(value->value),
                    value->has_limits() ? text(*value->low) + "–" + text(*value->high) : "",
                    std::string(quantity.name)});
  }
  return rows;
}

// A paragraph below the tables.
std::string paragraph(const std::string& lines, const Screen& screen) {
  return screen.markdown ? "\n" + lines : wrap(lines, screen);
}

std::string body(const plan::Planned& p, const plan::Calendar& calendar,
                 const record::Measurement* measured, const Screen& screen) {
  const auto& fullest = fullest_stage(p.estimate);
  auto out = titled("Estimated", quantity_rows(p), screen) +
             titled("Schedule", schedule_rows(p.estimate, calendar), screen) +
             titled("Time of one step, slowest stage", time_rows(p.estimate), screen) +
             titled(stage_title(fullest, p), memory_rows(fullest.items), screen);
  if (p.estimate.memory.size() > 1)
    out += titled("Memory by stage (--format json has the items of each)", stage_rows(p.estimate),
                  screen);
  if (!fullest.host.empty())
    out += titled("Host memory of one rank", memory_rows(fullest.host), screen);
  if (p.estimate.host_memory > 0)
    out += paragraph(fmt::format("\nHost memory per node: {} of {}\n",
                                 format_bytes(p.estimate.host_memory),
                                 format_bytes(p.run.partition->host_memory.value)),
                     screen);
  if (measured) out += measured_text(p, *measured, screen) + paragraph(machine_note(*measured), screen);
  for (const auto& warning : p.run.warnings)
    out += paragraph("\nwarning: " + warning.text() + "\n", screen);
  if (p.run.unequal.empty()) return out;
  out += paragraph(fmt::format("\n{} cannot be made equal in:\n", p.run.framework), screen);
  for (const auto& error : p.run.unequal) out += paragraph("  " + error.text() + "\n", screen);
  return out;
}

}  // namespace

Rows schedule_rows(const plan::Estimate& estimate, const plan::Calendar& calendar) {
  Rows rows{
      {"phase", "batch", "nodes", "tokens", "step s", "TFLOPs", "days", "from", "to"}};
  const auto spans = calendar.spans(estimate.portions(estimate.days_to_train));
  for (const auto& s : estimate.schedule) {
    const auto& span = spans[rows.size() - 1];
    rows.push_back({std::to_string(rows.size()),
                    span_text(std::to_string(s.first_batch), std::to_string(s.last_batch)),
                    std::to_string(s.nodes), format_tokens(s.tokens),
                    span_text(significant(s.first_step_seconds), significant(s.last_step_seconds)),
                    significant(s.tflops_per_gpu), significant(s.seconds / kDay),
                    place_text(calendar, span.from), place_text(calendar, span.to)});
  }
  return rows;
}

// In Markdown the head is a list: its first line is the run's id.
std::string explain(const plan::Planned& p, const plan::Calendar& calendar, const Screen& screen,
                    const record::Measurement* measured) {
  auto top = head(p, screen.markdown ? Screen() : screen);
  if (calendar.start) top += fmt::format("  {}\n", when_text(calendar, p.estimate));
  if (!screen.markdown) return wrap(top, screen) + body(p, calendar, measured, screen);
  const auto lines = split(trim(top), '\n');
  std::string list = "# " + lines.front() + "\n\n";
  for (std::size_t i = 1; i < lines.size(); ++i) list += fmt::format("- {}\n", trim(lines[i]));
  return list + body(p, calendar, measured, screen);
}

}  // namespace orch::tables
