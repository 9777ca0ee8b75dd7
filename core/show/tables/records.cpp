#include "core/show/tables/records.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "core/base/text.h"
#include "core/base/units.h"
#include "core/plan/vocabulary.h"
#include "core/record/record.h"
#include "core/record/quantities.h"
#include "core/show/tables/columns.h"
#include "core/show/tables/words.h"

namespace orch::tables {
namespace {

using record::Record;
using Records = std::vector<Record>;

using RecordColumns = std::vector<Column<Record>>;

bool is_assumed(const Record& record, std::string_view name) {
  return std::any_of(record.fields.begin(), record.fields.end(), [&](const record::Field& field) {
    return field.assumed && field.name == name;
  });
}

// What nobody said has a star.
Column<Record> starred_column(std::string_view name, int rank) {
  return {std::string(plan::find_term(name)->head), rank, [name](const Record& r) {
            return r.field_text(name) + (is_assumed(r, name) ? "*" : "");
          }};
}

std::string interval_text(const Record& record) {
  const auto& step = record.measured.step_seconds;
  if (!step || !step->has_limits()) return "";
  return significant(*step->low) + "–" + significant(*step->high);
}

// A run's name says what the other columns say; its hash is as good.
std::string short_id(const Record& record) {
  const bool ours = record.origin.kind == "run" || record.origin.kind == "plan";
  const auto dash = record.id.rfind('-');
  return ours && dash != std::string::npos ? record.id.substr(dash + 1) : record.id;
}

// The error of whatever both sides have, the step's time before the rate.
std::string error_cell(const Record& record) {
  if (!record.estimated) return "";
  const auto& measured = record.measured;
  if (measured.step_seconds && record.estimated->step_seconds > 0)
    return error_text(record.estimated->step_seconds, measured.step_seconds->value);
  if (measured.days_per_100b_tokens && record.estimated->days_per_100b_tokens > 0)
    return error_text(record.estimated->days_per_100b_tokens, *measured.days_per_100b_tokens);
  return "";
}

// A record has one or two numbers by different conventions: each says which.
std::string tflops_text(const Record& record) {
  std::vector<std::string> parts;
  for (const auto& held : record.measured.tflops)
    parts.push_back(fmt::format("{} {}", significant(held.value), held.convention));
  return join(parts, ", ");
}

std::string text_of(const record::Quantity& quantity, const record::Quantity::Value& value) {
  return value ? quantity_text(quantity.unit, value->value) : "";
}

// What was measured, and the estimate beside it.
void add_quantity(const record::Quantity& quantity, RecordColumns& to) {
  const std::string head(quantity.head);
  if (quantity.name == "tflops_per_gpu")
    to.push_back({head, quantity.rank, tflops_text});
  else
    to.push_back({head, quantity.rank, [&quantity](const Record& r) {
                    return text_of(quantity, measured(quantity, r));
                  }});
  if (quantity.name == "step_seconds") to.push_back({"95 %", 5, interval_text});
  if (quantity.estimated)
    to.push_back({"est. " + head, quantity.rank + 4, [&quantity](const Record& r) {
                    return text_of(quantity, estimated(quantity, r));
                  }});
  if (quantity.name == "step_seconds") to.push_back({"error", 3, error_cell});
}

RecordColumns columns() {
  RecordColumns out;
  out.push_back({"id", 0, short_id});
  out.push_back(starred_column("strategy", 3));
  out.push_back(starred_column("framework", 12));
  out.push_back({"model", 5, model_text});
  out.push_back(starred_column("gpu", 14));
  out.push_back(starred_column("gpus", 1));
  for (const auto* name : {"tensor_parallel", "pipeline_parallel", "data_parallel"})
    out.push_back(starred_column(name, 2));
  out.push_back(starred_column("micro_batch", 4));
  out.push_back(starred_column("accumulate", 13));
  out.push_back(starred_column("global_batch", 4));
  out.push_back(starred_column("zero_stage", 11));
  for (const auto& quantity : record::quantities())
    if (quantity.rank != record::kUnshown && !quantity.planned) add_quantity(quantity, out);
  out.push_back({"state", 1, verdict_text});
  out.push_back({"?", 1, [](const Record& r) { return r.doubts.empty() ? "" : "?"; }});
  return out;
}

Rows rows_of(const Records& records, const Screen& screen, std::size_t count) {
  std::vector<const Record*> shown;
  for (std::size_t i = 0; i < count; ++i) shown.push_back(&records[i]);
  return fitting_rows(filled(columns(), shown), screen);
}

// A text under the ids that it holds of: "a, b, c and 14 more: text".
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
  return fmt::format("{}, the worst step {}: {} s, {:.2f} x the median",
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

// "no room here for: TP, PP (--format md has all columns)".
std::string left_out_text(const std::vector<std::string>& all,
                          const std::vector<std::string>& shown) {
  std::vector<std::string> missing;
  std::size_t at = 0;
  for (const auto& title : all)
    if (at < shown.size() && shown[at] == title)
      ++at;
    else
      missing.push_back(title);
  return "no room here for: " + join(missing, ", ") + " (--format md has all columns)\n";
}

// What the steps of a run were not all: new, done, sound.
std::string steps_text(const record::Measurement& measured) {
  std::vector<std::string> parts;
  if (auto nan = record::nan_text(measured); !nan.empty())
    parts.push_back("loss: " + std::move(nan));
  if (measured.skipped_steps > 0)
    parts.push_back(plural(measured.skipped_steps, "step") +
                    " skipped: no update, as of an overflow");
  if (measured.restarts > 0)
    parts.push_back(fmt::format("restarted {}, {} done again",
                                plural(measured.restarts, "time"),
                                plural(measured.repeated_steps, "step")));
  return join(parts, "; ");
}

// The fields with a star in the table.
std::string assumed_text(const Record& record) {
  std::vector<std::string> names;
  for (const auto& name : record::field_names())
    if (is_assumed(record, name))
      names.push_back(fmt::format("{} {}", name, record.field_text(name)));
  return join(names, ", ");
}

struct Section {
  std::string title;
  std::vector<std::string> lines;
};

std::vector<Section> sections(const Records& records) {
  Notes taken, assumed, steps, ends, spikes, nodes, doubts, missing;
  for (const auto& record : records) {
    const auto id = short_id(record);
    taken.add(how_taken(record), id);
    assumed.add(assumed_text(record), id);
    steps.add(steps_text(record.measured), id);
    if (record.state != record::State::finished) ends.add(record.reason, id);
    for (const auto& spike : record.measured.spikes)
      spikes.add(fmt::format("loss {:.4g} to {:.4g} at step {}{}{}", spike.before, spike.peak,
                             spike.step, spike.at_resume ? ", where it was resumed" : "",
                             spike.recovered > 0 ? fmt::format(", back at {}", spike.recovered)
                                                 : ", never back"),
                 id);
    for (const auto& node : record.measured.odd_nodes)
      nodes.add(fmt::format("{}: {} {}, others {}", node.name, node.what, significant(node.value),
                            significant(node.typical)),
                id);
    for (const auto& doubt : record.doubts) doubts.add(doubt.reason, id);
    missing.add(record.not_estimated, id);
  }
  return {{"How the time of a step was taken", taken.lines()},
          {"Assumed (*)", assumed.lines()},
          {"Steps that count for less", steps.lines()},
          {"How it ended", ends.lines()},
          {"Jumps of the loss", spikes.lines()},
          {"Nodes apart from the others", nodes.lines()},
          {"Doubtful (?)", doubts.lines()},
          {"Without an estimate", missing.lines()}};
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

// In Markdown there is room for every record and column.
std::string records_table(const Records& records, const Screen& screen, std::size_t top) {
  const bool all = top == 0 || screen.markdown;
  const auto count = all ? records.size() : std::min(top, records.size());
  const auto whole = rows_of(records, {}, count);
  const auto rows = screen.markdown ? whole : rows_of(records, screen, count);
  auto out = rows.empty() && !screen.markdown ? std::string("no run is left to show\n")
                                              : grid(rows, screen);
  if (!rows.empty() && whole.front().size() > rows.front().size())
    out += wrap(left_out_text(whole.front(), rows.front()), screen);
  if (count < records.size())
    out += fmt::format("… and {} more (--top 0 shows all)\n", records.size() - count);
  for (const auto& section : sections(records)) {
    if (section.lines.empty()) continue;
    out += screen.markdown ? "\n**" + section.title + "**\n\n"
                           : "\n" + heading(section.title, screen);
    for (const auto& line : section.lines)
      out += screen.markdown ? "- " + markdown_text(line) + "\n" : wrap("  " + line + "\n", screen);
  }
  return out;
}

}  // namespace orch::tables
