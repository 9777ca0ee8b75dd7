#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/base/text.h"
#include "core/base/units.h"
#include "core/plan/stack.h"
#include "core/record/quantities.h"
#include "core/show/tables/compared.h"
#include "core/show/tables/plan.h"
#include "core/show/tables/report.h"
#include "core/show/tables/words.h"

namespace orch::tables {
namespace {

using show::Cell, show::Value;

std::string share(double part, double total) { return fmt::format("{:.1f}%", 100 * part / total); }

// Items with their totals, for people; all items for programs.
struct ExplainLine {
  Value amount;
  std::string shown, share, name, kind, formula;
};

show::Table items_table(std::string name, std::string title, const char* unit,
                        std::vector<ExplainLine> lines) {
  show::Columns<ExplainLine> columns(std::move(lines));
  columns.add(unit, unit, 0, [](const ExplainLine& line) -> Cell {
    return {line.amount, line.shown};
  });
  columns.add("", "share", 0, [](const ExplainLine& line) { return line.share; });
  columns.add("name", "item", 0, [](const ExplainLine& line) { return line.name; });
  columns.add("kind", [](const ExplainLine& line) { return line.kind; });
  columns.add("formula", "how", 0, [](const ExplainLine& line) { return line.formula; });
  return columns.table(std::move(name), std::move(title));
}

show::Table time_table(const plan::Estimate& estimate) {
  std::vector<ExplainLine> lines;
  double sum = 0;
  const auto add = [&](double seconds, const plan::EstimateItem& item) {
    lines.push_back({seconds, fmt::format("{:.4f}", seconds), share(seconds, estimate.step_seconds),
                     item.name, item.kind, item.formula});
  };
  for (const auto& item : estimate.time) add(item.amount, item), sum += item.amount;
  add(sum, {"one step", "sum", sum, ""});
  return items_table("time", "Time of one step, slowest stage", "seconds", std::move(lines));
}

show::Table memory_table(std::string name, std::string title,
                         const std::vector<plan::EstimateItem>& items) {
  std::vector<ExplainLine> lines;
  double sum = 0;
  for (const auto& item : items) sum += item.amount;
  const auto add = [&](const plan::EstimateItem& item) {
    lines.push_back({std::llround(item.amount), group_digits(item.amount), share(item.amount, sum),
                     item.name, item.kind, item.formula});
  };
  for (const auto& item : items) add(item);
  add({format_gib(sum) + " GiB", "sum", sum, ""});
  return items_table(std::move(name), std::move(title), "bytes", std::move(lines));
}

show::Table stages_table(const plan::Estimate& estimate) {
  show::Columns<plan::StageMemory> columns(estimate.memory);
  columns.add("", "stages", 0, [](const auto& stage) -> Cell {
    return stages_text(stage.first_stage, stage.last_stage);
  });
  columns.add("first_stage", "", 0, [](const auto& stage) -> Cell { return stage.first_stage; });
  columns.add("last_stage", "", 0, [](const auto& stage) -> Cell { return stage.last_stage; });
  columns.add("bytes", "GiB", 0, [](const auto& stage) -> Cell {
    return {Value(static_cast<std::int64_t>(std::llround(stage.total))), format_gib(stage.total)};
  });
  columns.add("", "of usable", 0, [&](const auto& stage) -> Cell {
    return share(stage.total, estimate.usable_memory);
  });
  auto out = columns.table("stages", "Memory by stage (--format json has the items of each)");
  if (estimate.memory.size() < 2)
    for (auto& column : out.columns) column.title.clear();
  return out;
}

// The items of all stages, for programs.
show::Table stage_items_table(const plan::Estimate& estimate) {
  struct ItemRange {
    std::int64_t first, last;
    const char* place;
    const plan::EstimateItem* item;
  };
  std::vector<ItemRange> all;
  for (const auto& stage : estimate.memory) {
    for (const auto& item : stage.items)
      all.push_back({stage.first_stage, stage.last_stage, "device", &item});
    for (const auto& item : stage.host)
      all.push_back({stage.first_stage, stage.last_stage, "host", &item});
  }
  show::Columns<ItemRange> columns(std::move(all));
  columns.add("first_stage", [](const ItemRange& of) { return of.first; });
  columns.add("last_stage", [](const ItemRange& of) { return of.last; });
  columns.add("place", [](const ItemRange& of) { return of.place; });
  columns.add("name", [](const ItemRange& of) { return of.item->name; });
  columns.add("bytes", [](const ItemRange& of) { return std::llround(of.item->amount); });
  columns.add("formula", [](const ItemRange& of) { return of.item->formula; });
  return columns.table("memory");
}

std::string stage_title(const plan::StageMemory& fullest, const plan::Planned& p) {
  if (p.run.layout.pipeline_parallel == 1) return "Memory of one GPU, the fullest";
  return fmt::format("Memory of one GPU, stage{} {}, the fullest",
                     fullest.first_stage == fullest.last_stage ? "" : "s",
                     stages_text(fullest.first_stage, fullest.last_stage));
}

// The stacks that could estimate the run, the nearest first.
std::string choice_text(const plan::Run& run) {
  auto stacks = plan::stacks_for(run);
  if (stacks.size() < 2) return "";
  const auto far = [&](const plan::StackOnPartition* on) { return plan::farness(run, *on); };
  std::ranges::stable_sort(stacks, {}, far);
  const auto parts = mapped(stacks, [&](const plan::StackOnPartition* on) {
    return fmt::format("{} {:.2f}", on->stack->name, far(on));
  });
  return fmt::format("  how far its rows are (machine, sizes, settings, date): {}\n",
                     join(parts, ", "));
}

std::string head(const plan::Planned& p) {
  const auto& r = p.run;
  const auto& e = p.estimate;
  const auto variant = plan::variant(r);
  std::string out = p.run.id + "\n";
  out += fmt::format("  {}{}{} on {} x {} ({}/{})\n", r.strategy->name, variant.empty() ? "" : " ",
                     variant, r.gpus, r.partition->gpu.name, r.cluster->name, r.partition->name);
  out += fmt::format(
      "  {}: {} parameters{}; {} layers x {} hidden, {} heads of {}{}, vocabulary {}, {} tokens\n",
      r.model.name, group_digits(r.model.params()),
      r.model.mixture() ? fmt::format(", {} for a token", group_digits(r.model.active_params()))
                        : "",
      r.model.layers, r.model.hidden, r.model.heads, r.model.head_dim,
      r.model.kv_heads != r.model.heads ? fmt::format(" on {} of keys and values", r.model.kv_heads)
                                        : "",
      r.model.vocab, r.model.seq);
  out += fmt::format(
      "  tensor {} x pipeline {}{} x data {}; micro-batch {} x accumulate {} x data {} = {} "
      "samples\n",
      r.layout.tensor_parallel, r.layout.pipeline_parallel,
      r.layout.context_parallel > 1 ? fmt::format(" x context {}", r.layout.context_parallel) : "",
      r.layout.data_parallel, r.batch.micro_batch, r.batch.accumulate, r.layout.data_parallel,
      r.batch.global_batch);
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

// "192–2032", or a single value if both are the same.
std::string span_text(const std::string& first, const std::string& last) {
  return first == last ? first : first + "–" + last;
}

std::string place_text(const plan::Calendar& calendar, double days) {
  if (!calendar.start) return fmt::format("day {:.1f}", days);
  return day_text(calendar.date(days));
}

// What was recorded about the machine; empty: nothing.
std::string machine_note(const record::Measurement& measured) {
  const auto noted = [&](const char* name) {
    return record::measured(*record::find_quantity(name), measured);
  };
  std::vector<std::string> parts;
  if (const auto others = noted("others_share"))
    parts.push_back(
        fmt::format("other programs used {:.0f} % of the machine{}", 100 * others->value,
                    others->value < record::kBusyShare ? "" : ": measure again when it is idle"));
  if (const auto clock = noted("clock_mhz"))
    parts.push_back(fmt::format("its clock was {} MHz", group_digits(clock->value)));
  if (const auto energy = noted("energy_kwh"))
    parts.push_back(fmt::format("its GPUs used {} kWh", significant(energy->value)));
  return parts.empty() ? "" : "While it trained, " + join(parts, "; ");
}

// Every estimated quantity, with its range if it has one.
show::Table quantities_table(const plan::Planned& p) {
  std::vector<const record::Quantity*> known;
  for (const auto& quantity : record::quantities())
    if (record::estimated(quantity, p.estimate)) known.push_back(&quantity);
  show::Columns<record::Quantity> columns(std::move(known));
  columns.add("", "quantity", 0, [](const auto& quantity) -> Cell { return quantity.title; });
  columns.add("name", "", 0, [](const auto& quantity) -> Cell { return quantity.name; });
  columns
      .add("estimated", "estimated", 0,
           [&p](const auto& quantity) {
             return quantity_cell(quantity, record::estimated(quantity, p.estimate));
           })
      .range = "estimated";
  columns.add("", "90 % range", 0, [&p](const auto& quantity) -> Cell {
    const auto value = record::estimated(quantity, p.estimate);
    const auto text = [&](double number) { return quantity_text(quantity.unit, number); };
    return value->has_limits() ? text(*value->low) + "–" + text(*value->high) : "";
  });
  columns.add("", "name", 0, [](const auto& quantity) -> Cell { return quantity.name; });
  return columns.table("quantities", "Estimated");
}

// The run with all columns of a plan, for programs.
show::Table run_table(const plan::Planned& p, const plan::Calendar& calendar) {
  const auto experiment = std::make_shared<plan::Experiment>();
  experiment->calendar = calendar;
  auto out = show::for_programs(runs_table({.experiment = experiment.get(), .runs = {&p}}, 0));
  for (auto& column : out.columns)
    column.cell = [experiment, read = std::move(column.cell)](std::size_t row) {
      return read(row);
    };
  return out;
}

}  // namespace

show::Table schedule_table(const plan::Estimate& estimate, const plan::Calendar& calendar) {
  struct Row : plan::TrainingStretch {
    plan::DateSpan span;
    std::size_t phase;
  };
  std::vector<Row> rows;
  const auto spans = calendar.spans(estimate.portions(estimate.days_to_train));
  for (std::size_t i = 0; i < estimate.schedule.size(); ++i)
    rows.push_back({estimate.schedule[i], spans[i], i + 1});
  show::Columns<Row> columns(std::move(rows));
  const auto number = [&](const char* name, auto read) { columns.add(name, read); };
  const auto text = [&](const char* title, auto read) { columns.add("", title, 0, read); };
  const auto day = [calendar](double days) -> Cell {
    const auto date = calendar.start ? calendar.date(days) : std::nullopt;
    return {date ? Value(format_date(*date)) : Value(), place_text(calendar, days)};
  };
  columns.add("phase", "phase", 0, [](const Row& s) { return s.phase; });
  text("batch", [](const Row& s) {
    return span_text(std::to_string(s.first_batch), std::to_string(s.last_batch));
  });
  number("first_batch", [](const Row& s) { return s.first_batch; });
  number("last_batch", [](const Row& s) { return s.last_batch; });
  number("samples", [](const Row& s) { return s.samples; });
  columns.add("nodes", "nodes", 0, [](const Row& s) { return s.nodes; });
  number("gpus", [](const Row& s) { return s.gpus; });
  number("data_parallel", [](const Row& s) { return s.data_parallel; });
  columns.add("tokens", "tokens", 0, [](const Row& s) -> Cell {
    return {Value(s.tokens), format_tokens(s.tokens)};
  });
  text("step s", [](const Row& s) {
    return span_text(significant(s.first_step_seconds), significant(s.last_step_seconds));
  });
  number("first_step_seconds", [](const Row& s) { return s.first_step_seconds; });
  number("last_step_seconds", [](const Row& s) { return s.last_step_seconds; });
  columns.add("tflops_per_gpu", "TFLOPs", 0, [](const Row& s) -> Cell {
    return {Value(s.tflops_per_gpu), significant(s.tflops_per_gpu)};
  });
  columns.add("seconds", "days", 0, [](const Row& s) -> Cell {
    return {Value(s.seconds), significant(s.seconds / kDay)};
  });
  number("gpu_hours", [](const Row& s) { return s.gpu_hours; });
  columns.add("from", "from", 0, [day](const Row& s) { return day(s.span.from); });
  columns.add("to", "to", 0, [day](const Row& s) { return day(s.span.to); });
  return columns.table("schedule", "Schedule");
}

show::Answer explain(const plan::Planned& p, const plan::Calendar& calendar,
                     const record::Measurement* measured) {
  show::Answer out{
      p.run.id,
      head(p) + (calendar.start ? fmt::format("  {}\n", when_text(calendar, p.estimate)) : "")};
  const auto add = [&](show::Section section) { out.sections.push_back(std::move(section)); };
  const auto say = [&](const char* kind, std::string text) {
    add(show::Findings{"", {{kind, std::move(text)}}});
  };
  add(run_table(p, calendar));
  add(quantities_table(p));
  add(schedule_table(p.estimate, calendar));
  if (!p.estimate.lost.empty()) add(lost_table(p.estimate));
  add(time_table(p.estimate));
  if (!p.estimate.memory.empty()) {
    const auto& fullest = fullest_stage(p.estimate);
    add(memory_table("", stage_title(fullest, p), fullest.items));
    add(stages_table(p.estimate));
    add(stage_items_table(p.estimate));
    if (!fullest.host.empty()) add(memory_table("", "Host memory of one rank", fullest.host));
  }
  if (p.estimate.host_memory > 0)
    say("host", fmt::format("Host memory per node: {} of {}", format_bytes(p.estimate.host_memory),
                            format_bytes(p.run.partition->host_memory.value)));
  if (measured && !measured->spent.empty()) add(spent_table(p.estimate, *measured));
  if (measured) {
    if (!measured->time_items.empty() || measured->step_seconds)
      add(compared_table("measured_time", "Measured: seconds of one step",
                         compare_time(p.estimate, *measured), false));
    if (!measured->memory_items.empty() || measured->peak_memory_bytes)
      add(compared_table("measured_memory", "Measured: bytes of one rank",
                         compare_memory(p.estimate, *measured), true));
    if (auto host = compare_host_memory(p.estimate, *measured); !host.items.empty())
      add(compared_table("measured_host_memory", "Measured: bytes of one rank on the host",
                         std::move(host), true));
    say("machine", machine_note(*measured));
  }
  for (const auto& warning : p.run.warnings) say("warning", "warning: " + warning.text());
  if (p.run.unequal.empty()) return out;
  std::string unequal = fmt::format("{} cannot be made equal in:\n", p.run.framework);
  for (const auto& error : p.run.unequal) unequal += "  " + error.text() + "\n";
  say("unequal", std::move(unequal));
  return out;
}

}  // namespace orch::tables
