#include "core/show/tables/records.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "core/base/text.h"
#include "core/base/units.h"
#include "core/plan/vocabulary.h"
#include "core/record/quantities.h"
#include "core/record/record.h"
#include "core/show/findings/compared.h"
#include "core/show/tables/columns.h"
#include "core/show/tables/words.h"

namespace orch::tables {
namespace {

using record::Record;
using RecordList = std::vector<Record>;

using show::Cell, show::Value;
using RecordColumns = show::Columns<Record>;

bool is_assumed(const Record& record, std::string_view name) {
  return std::any_of(
      record.fields.begin(), record.fields.end(),
      [&](const record::RecordField& field) { return field.assumed && field.name == name; });
}

// Marks values with a star that were not stated.
void add_starred(std::string_view name, int rank, RecordColumns& to) {
  to.add("", std::string(plan::find_term(name)->head), rank,
         [name](const Record& r) { return r.field_text(name) + (is_assumed(r, name) ? "*" : ""); });
}

std::string interval_text(const Record& record) {
  const auto& step = record.measured.step_seconds;
  if (!step || !step->has_limits()) return "";
  return significant(*step->low) + "–" + significant(*step->high);
}

// A run's name repeats other columns; its hash is enough.
std::string short_id(const Record& record) {
  const bool ours = record.origin.kind == "run" || record.origin.kind == "plan";
  const auto dash = record.id.rfind('-');
  return ours && dash != std::string::npos ? record.id.substr(dash + 1) : record.id;
}

// The error of the quantity that both sides have: the step's time rather than the rate.
std::string error_cell(const Record& record) {
  if (!record.estimated) return "";
  const auto& measured = record.measured;
  if (measured.step_seconds && record.estimated->step_seconds > 0)
    return error_text(record.estimated->step_seconds, measured.step_seconds->value);
  if (measured.days_per_100b_tokens && record.estimated->days_per_100b_tokens > 0)
    return error_text(record.estimated->days_per_100b_tokens, *measured.days_per_100b_tokens);
  return "";
}

// A record has one or two values by different conventions; each is printed with its convention.
std::string tflops_text(const Record& record) {
  std::vector<std::string> parts;
  for (const auto& held : record.measured.tflops)
    parts.push_back(fmt::format("{} {}", significant(held.value), held.convention));
  return join(parts, ", ");
}

std::string text_of(const record::Quantity& quantity, const record::Quantity::Value& value) {
  return value ? quantity_text(quantity.unit, value->value) : "";
}

// Adds the measurement, and the estimate beside it.
void add_quantity(const record::Quantity& quantity, RecordColumns& to) {
  const std::string head(quantity.head);
  const auto add = [&](const std::string& title, int rank, auto read) {
    to.add("", title, rank, read);
  };
  if (quantity.name == "tflops_per_gpu")
    add(head, quantity.rank, tflops_text);
  else
    add(head, quantity.rank,
        [&quantity](const Record& r) { return text_of(quantity, measured(quantity, r)); });
  if (quantity.name == "step_seconds") add("95 %", 5, interval_text);
  if (quantity.estimated)
    add("est. " + head, quantity.rank + 4,
        [&quantity](const Record& r) { return text_of(quantity, estimated(quantity, r)); });
  if (quantity.name == "step_seconds") add("error", 3, error_cell);
}

void add_for_people(RecordColumns& to) {
  const auto add = [&](const char* title, int rank, auto read) { to.add("", title, rank, read); };
  add("id", 0, short_id);
  add_starred("strategy", 3, to);
  add_starred("framework", 12, to);
  add("model", 5, model_text);
  add_starred("gpu", 14, to);
  add_starred("gpus", 1, to);
  for (const auto* name : {"tensor_parallel", "pipeline_parallel", "data_parallel"})
    add_starred(name, 2, to);
  add_starred("micro_batch", 4, to);
  add_starred("accumulate", 13, to);
  add_starred("global_batch", 4, to);
  add_starred("zero_stage", 11, to);
  for (const auto& quantity : record::quantities())
    if (quantity.rank != record::kUnshown && !quantity.planned) add_quantity(quantity, to);
  add("state", 1, verdict_text);
  add("?", 1, [](const Record& r) { return r.doubts.empty() ? "" : "?"; });
}

// The fields that occur in any record, in their order.
std::vector<std::string> given_fields(const RecordList& records) {
  std::vector<std::string> out;
  const auto add = [&](const std::string& name) {
    if (!contains(out, name)) out.push_back(name);
  };
  for (const auto& name : record::field_names())
    if (std::ranges::any_of(records, [&](const Record& r) { return r.field(name) != nullptr; }))
      add(name);
  for (const auto& record : records)
    for (const auto& field : record.fields) add(field.name);
  return out;
}

void add_for_programs(const RecordList& records, RecordColumns& to) {
  to.add("id", [](const Record& r) { return r.id; });
  to.add("source", [](const Record& r) { return r.source; });
  to.add("state", [](const Record& r) { return name(r.state); });
  to.add("failure", [](const Record& r) {
    return r.failure == record::Failure::none ? Cell() : Cell(name(r.failure));
  });
  for (const auto& name : given_fields(records))
    to.add(name, [name](const Record& r) {
      const auto* value = r.field(name);
      return value != nullptr ? *value : Value();
    });
  add_quantities(to, [](const Record& r) -> const Record& { return r; });
  // As the source states them, by the convention in the next column.
  to.find("tflops_per_gpu")->cell = to.reader([](const Record& r) {
    return r.measured.tflops.empty() ? Cell() : Cell(r.measured.tflops[0].value);
  });
  to.add("tflops_convention", [](const Record& r) {
    return r.measured.tflops.empty() ? "" : r.measured.tflops[0].convention;
  });
  to.add("doubts",
         [](const Record& r) { return join(mapped(r.doubts, &record::Doubt::reason), "; "); });
  to.add("reason", [](const Record& r) { return r.reason; });
}

// A text with the ids that it applies to: "a, b, c and 14 more: text".
class Notes {
 public:
  void add(const std::string& text, const std::string& id) {
    if (text.empty()) return;
    auto& ids = held_[text];
    if (ids.empty()) order_.push_back(text);
    ids.push_back(id);
  }

  std::vector<std::string> lines() const {
    std::vector<std::string> out;
    for (const auto& text : order_)
      out.push_back(printable(first_of(held_.at(text), 4) + ": " + text));
    return out;
  }

 private:
  std::map<std::string, std::vector<std::string>> held_;
  std::vector<std::string> order_;
};

std::string odd_steps_text(const record::Measurement& measured) {
  if (measured.odd_steps.empty()) return "";
  const auto& worst = measured.odd_steps.front();
  return fmt::format("{}, the worst at step {}: {} s, {:.2f} x the median",
                     plural(measured.odd_step_count, "outlier"), worst.step,
                     significant(worst.seconds), worst.factor);
}

std::string how_taken(const Record& record) {
  const auto& measured = record.measured;
  if (!measured.step_seconds_from.empty()) return measured.step_seconds_from;
  auto out = measured.window.rule;
  if (const auto odd = odd_steps_text(measured); !odd.empty()) out += "; " + odd;
  return out;
}

// Remarks on the steps of a run: repeated, missing, invalid.
std::string steps_text(const record::Measurement& measured) {
  std::vector<std::string> parts;
  if (auto nan = record::nan_text(measured); !nan.empty())
    parts.push_back("loss: " + std::move(nan));
  if (measured.skipped_steps > 0)
    parts.push_back(plural(measured.skipped_steps, "step") +
                    " skipped: no update, as of an overflow");
  if (measured.restarts > 0)
    parts.push_back(fmt::format("restarted {}, {} done again", plural(measured.restarts, "time"),
                                plural(measured.repeated_steps, "step")));
  return join(parts, "; ");
}

// Beside what the estimate expects of the training.
std::string goodput_text(const Record& record) {
  auto out = record::goodput_text(record.measured);
  const auto expected = estimated(*record::find_quantity("goodput"), record);
  if (!out.empty() && expected)
    out += fmt::format("; estimated for the training: {:.1f} %", 100 * expected->value);
  return out;
}

// Of the GPUs themselves, beside what the estimate expects of the whole training and machine.
std::string energy_text(const Record& record) {
  const auto& energy = *record::find_quantity("energy_kwh");
  const auto used = measured(energy, record), expected = estimated(energy, record);
  if (!used) return "";
  auto out = quantity_text(energy.unit, used->value) + " kWh";
  if (expected)
    out += fmt::format("; estimated for the training, with failures and cooling: {} kWh",
                       quantity_text(energy.unit, expected->value));
  return out;
}

// The assumed fields, which have a star in the table.
std::string assumed_text(const Record& record) {
  std::vector<std::string> names;
  for (const auto& name : record::field_names())
    if (is_assumed(record, name))
      names.push_back(fmt::format("{} {}", name, record.field_text(name)));
  return join(names, ", ");
}

void add_notes(const RecordList& records, std::vector<show::Section>& to) {
  Notes taken, assumed, steps, spent, energy, ends, spikes, nodes, doubts, missing;
  for (const auto& record : records) {
    const auto id = short_id(record);
    taken.add(how_taken(record), id);
    assumed.add(assumed_text(record), id);
    steps.add(steps_text(record.measured), id);
    spent.add(goodput_text(record), id);
    energy.add(energy_text(record), id);
    if (record.state != record::RunState::finished) ends.add(record.reason, id);
    for (const auto& spike : record.measured.spikes) spikes.add(findings::spike_text(spike), id);
    for (const auto& node : record.measured.odd_nodes) nodes.add(findings::node_text(node), id);
    for (const auto& doubt : record.doubts) doubts.add(doubt.reason, id);
    missing.add(record.not_estimated, id);
  }
  const auto add = [&](const char* kind, const char* title, const Notes& notes) {
    show::Findings findings{title};
    for (const auto& line : notes.lines()) findings.list.push_back({kind, "  " + line});
    if (!findings.list.empty()) to.push_back(std::move(findings));
  };
  add("taken", "How the time of a step was taken", taken);
  add("assumed", "Assumed (*)", assumed);
  add("steps", "Steps that were skipped or repeated", steps);
  add("goodput", "Time that computed steps that count", spent);
  add("energy", "Energy of its GPUs", energy);
  add("ended", "How it ended", ends);
  add("spikes", "Jumps of the loss", spikes);
  add("nodes", "Nodes that differ from the others", nodes);
  add("doubts", "Doubtful (?)", doubts);
  add("not_estimated", "Without an estimate", missing);
}

}  // namespace

std::string model_text(const Record& record) {
  if (const auto params = record.field_number("params")) return size_text(*params);
  if (auto model = record.field_text("model"); !model.empty()) return model;
  const auto layers = record.field_text("layers"), hidden = record.field_text("hidden");
  return layers.empty() || hidden.empty() ? "" : layers + " x " + hidden;
}

std::string verdict_text(const Record& record) {
  std::string out(name(record.state));
  if (record.failure != record::Failure::none) out += ": " + std::string(name(record.failure));
  return out;
}

show::Answer records_answer(const RecordList& records, std::size_t top) {
  std::vector<const Record*> rows;
  for (const auto& record : records) rows.push_back(&record);
  RecordColumns columns(std::move(rows));
  add_for_people(columns);
  add_for_programs(records, columns);
  auto table = columns.table("records");
  if (records.empty()) table.above.push_back("no run is left to show");
  if (top > 0 && top < records.size()) {
    for (std::size_t i = 0; i < top; ++i)
      (table.first ? *table.first : table.first.emplace()).push_back(i);
    table.others = "more";
  }
  show::Answer out{"", "", {std::move(table)}};
  add_notes(records, out.sections);
  return out;
}

}  // namespace orch::tables
