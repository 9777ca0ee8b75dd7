#include "core/show/tables/records.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>

#include "core/base/text.h"
#include "core/base/units.h"
#include "core/record/nan.h"
#include "core/show/tables/text_columns.h"
#include "core/show/tables/words.h"

namespace orch::tables {
namespace {

using record::Record;
using Records = std::vector<Record>;

struct Column {
  std::string title;
  int rank;
  std::function<std::string(const Record&)> text;
};

bool is_assumed(const Record& record, std::string_view name) {
  return std::any_of(record.fields.begin(), record.fields.end(), [&](const record::Field& field) {
    return field.assumed && field.name == name;
  });
}

// What nobody said has a star.
Column field_column(std::string title, int rank, std::string name) {
  return {std::move(title), rank, [name](const Record& r) {
            return r.field_text(name) + (is_assumed(r, name) ? "*" : "");
          }};
}

std::string number(const std::optional<double>& value) { return value ? significant(*value) : ""; }

std::string percent(double estimated, double measured) {
  return fmt::format("{:+.0f} %", 100 * (estimated / measured - 1));
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
std::string error_text(const Record& record) {
  if (!record.estimated) return "";
  const auto& measured = record.measured;
  if (measured.step_seconds && record.estimated->step_seconds > 0)
    return percent(record.estimated->step_seconds, measured.step_seconds->value);
  if (measured.days_per_100b_tokens && record.estimated->days_per_100b_tokens > 0)
    return percent(record.estimated->days_per_100b_tokens, *measured.days_per_100b_tokens);
  return "";
}

// A record has one or two numbers by different conventions: each says which.
std::string tflops_text(const Record& record) {
  std::vector<std::string> parts;
  for (const auto& held : record.measured.tflops)
    parts.push_back(fmt::format("{} {}", significant(held.value), held.convention));
  return join(parts, ", ");
}

std::string estimated(const Record& record, double record::Estimated::*member, double unit = 1) {
  if (!record.estimated || !(record.estimated.value().*member > 0)) return "";
  return significant(record.estimated.value().*member / unit);
}

std::vector<Column> columns() {
  using E = record::Estimated;
  std::vector<Column> out;
  out.push_back({"id", 0, short_id});
  out.push_back(field_column("strategy", 3, "strategy"));
  out.push_back(field_column("framework", 12, "framework"));
  out.push_back({"model", 5, model_text});
  out.push_back(field_column("GPU", 14, "gpu"));
  out.push_back(field_column("GPUs", 1, "gpus"));
  out.push_back(field_column("TP", 2, "tensor_parallel"));
  out.push_back(field_column("PP", 2, "pipeline_parallel"));
  out.push_back(field_column("DP", 2, "data_parallel"));
  out.push_back(field_column("micro", 4, "micro_batch"));
  out.push_back(field_column("accum", 13, "accumulate"));
  out.push_back(field_column("global", 4, "global_batch"));
  out.push_back(field_column("ZeRO", 11, "zero_stage"));
  out.push_back({"step s", 1, [](const Record& r) {
                   return r.measured.step_seconds ? significant(r.measured.step_seconds->value)
                                                  : "";
                 }});
  out.push_back({"95 %", 5, interval_text});
  out.push_back({"est. s", 6, [](const Record& r) { return estimated(r, &E::step_seconds); }});
  out.push_back({"error", 3, error_text});
  out.push_back({"TFLOPs", 9, tflops_text});
  out.push_back(
      {"tokens/s", 12, [](const Record& r) { return number(r.measured.tokens_per_second); }});
  out.push_back(
      {"days/100B", 3, [](const Record& r) { return number(r.measured.days_per_100b_tokens); }});
  out.push_back(
      {"est. days", 7, [](const Record& r) { return estimated(r, &E::days_per_100b_tokens); }});
  out.push_back({"GiB", 8, [](const Record& r) {
                   const auto& peak = r.measured.peak_memory_bytes;
                   return peak ? significant(*peak / kGiB) : "";
                 }});
  out.push_back(
      {"est. GiB", 10, [](const Record& r) { return estimated(r, &E::peak_memory_bytes, kGiB); }});
  out.push_back({"loss", 11, [](const Record& r) {
                   return r.measured.last_loss ? fmt::format("{:.4g}", *r.measured.last_loss) : "";
                 }});
  out.push_back({"state", 1, state_text});
  out.push_back({"?", 1, [](const Record& r) { return r.doubts.empty() ? "" : "?"; }});
  return out;
}

std::vector<std::vector<std::string>> rows_of(const Records& records, const Screen& screen,
                                              std::size_t count) {
  std::vector<TextColumn> out;
  for (const auto& column : columns()) {
    auto& texts = out.emplace_back(TextColumn{column.rank, {column.title}}).texts;
    for (std::size_t i = 0; i < count; ++i) texts.push_back(printable(column.text(records[i])));
  }
  return fitting_rows(std::move(out), screen);
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
    constexpr std::size_t kShown = 4;
    std::vector<std::string> out;
    for (const auto& text : order_) {
      const auto& ids = held_.at(text);
      std::vector<std::string> shown;
      for (std::size_t i = 0; i < ids.size() && i < kShown; ++i) shown.push_back(printable(ids[i]));
      auto who = join(shown, ", ");
      if (ids.size() > kShown) who += fmt::format(" and {} more", ids.size() - kShown);
      out.push_back(who + ": " + printable(text));
    }
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
    parts.push_back(plural(static_cast<std::size_t>(measured.skipped_steps), "step") +
                    " skipped: no update, as of an overflow");
  if (measured.restarts > 0)
    parts.push_back(fmt::format("restarted {}, {} done again",
                                plural(static_cast<std::size_t>(measured.restarts), "time"),
                                plural(static_cast<std::size_t>(measured.repeated_steps), "step")));
  return join(parts, "; ");
}

// The fields with a star in the table.
std::string assumed_text(const Record& record) {
  std::vector<std::string> names;
  for (const auto* name :
       {"strategy", "framework", "gpu", "gpus", "tensor_parallel", "pipeline_parallel",
        "data_parallel", "micro_batch", "accumulate", "global_batch", "zero_stage", "seq"})
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
  if (const auto params = record.field_number("params"))
    return fmt::format("{:.3g}{}", *params >= 1e9 ? *params / 1e9 : *params / 1e6,
                       *params >= 1e9 ? "B" : "M");
  if (auto model = record.field_text("model"); !model.empty()) return model;
  const auto layers = record.field_text("layers"), hidden = record.field_text("hidden");
  return layers.empty() || hidden.empty() ? "" : layers + " x " + hidden;
}

std::string state_text(const Record& record) {
  std::string out(name(record.state));
  if (record.failure != record::Failure::none) out += ": " + std::string(name(record.failure));
  return out;
}

std::string records_table(const Records& records, const Screen& screen, std::size_t top) {
  const auto count = top == 0 ? records.size() : std::min(top, records.size());
  const auto rows = rows_of(records, screen, count);
  auto out = rows.empty() ? std::string("no run is left to show\n") : grid(rows, screen);
  if (const auto whole = rows_of(records, {}, count);
      !rows.empty() && whole.front().size() > rows.front().size())
    out += wrap(left_out_text(whole.front(), rows.front()), screen);
  if (count < records.size())
    out += fmt::format("… and {} more (--top 0 shows all)\n", records.size() - count);
  for (const auto& section : sections(records)) {
    if (section.lines.empty()) continue;
    out += "\n" + paint(section.title, "1", screen) + "\n";
    for (const auto& line : section.lines) out += wrap("  " + line + "\n", screen);
  }
  return out;
}

std::string records_markdown(const Records& records) {
  auto out = grid_markdown(rows_of(records, {}, records.size()));
  for (const auto& section : sections(records)) {
    if (section.lines.empty()) continue;
    out += "\n**" + section.title + "**\n\n";
    for (const auto& line : section.lines) out += "- " + markdown_text(line) + "\n";
  }
  return out;
}

}  // namespace orch::tables
