#include "core/show/page/columns.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>

#include "core/base/units.h"
#include "core/plan/vocabulary.h"
#include "core/record/quantities.h"
#include "core/record/record.h"
#include "core/show/page/parts.h"
#include "core/show/page/text.h"

namespace orch::page {
namespace {

using record::Record;

PageCell plain(const std::string& text) { return {escape(text, kLongestName), {}}; }

PageCell number(const std::optional<double>& value) {
  if (!value || !std::isfinite(*value)) return {};
  return {"", Interval{*value, {}, {}, 1}};
}

PageCell ranged(const std::optional<Interval>& range, double unit = 1) {
  if (!range) return {};
  return {"", range->times(1 / unit)};
}

// A word that expands to its explanation, also without scripts.
std::string opens(const char* kind, const std::string& word, const std::string& more) {
  return fmt::format("<details class=\"{}\"><summary>{}</summary>{}</details>", kind, word, more);
}

PageCell strategy_cell(const PageLine& line) {
  auto out = plain(strategy_of(*line.record));
  if (!line.variant.empty()) out.html += fmt::format(" <small>{}</small>", escape(line.variant));
  return out;
}

PageCell state_cell(const PageLine& line) {
  const auto& record = *line.record;
  std::string word(record::name(record.state));
  if (record.failure != record::Failure::none)
    word += fmt::format(": {}", record::name(record.failure));
  for (auto& c : word)
    if (c == '_') c = ' ';
  if (!record.reason.empty())
    word = opens("reason", word, fmt::format("<p>{}</p>", escape(record.reason)));
  const auto nan = record::nan_text(record.measured);
  if (!nan.empty()) word += fmt::format(" <small>loss {}</small>", nan);
  return {word, {}};
}

PageCell doubts_cell(const PageLine& line) {
  const auto& doubts = line.record->doubts;
  if (doubts.empty()) return {};
  std::string list = "<ul>";
  for (const auto& doubt : doubts) list += fmt::format("<li>{}</li>", escape(doubt.reason));
  const auto n = doubts.size();
  return {
      opens("doubts", "<span aria-hidden=\"true\">⚠ </span>" + plural(n, "doubt"), list + "</ul>"),
      Interval{static_cast<double>(n), {}, {}, 1}};
}

PageCell error_cell(const PageLine& line) {
  const auto error = line.numbers.error();
  if (!error) return {};
  return {fmt::format("{:+.1f}", *error), Interval{*error, {}, {}, 1}};
}

PageColumn words(const char* name, const char* head,
                 std::function<PageCell(const PageLine&)> cell) {
  return {.name = name,
          .head = head,
          .has_choices = true,
          .is_setting = true,
          .doubted = {name},
          .cell = std::move(cell)};
}

// The column of a numeric field.
PageColumn field(const char* name, bool has_choices = false) {
  const auto& term = *plan::find_term(name);
  return {.name = name,
          .head = std::string(term.head),
          .title = std::string(term.meaning),
          .is_number = true,
          .has_choices = has_choices,
          .is_setting = true,
          .doubted = {name, std::string(term.alias)},
          .cell = [name](const PageLine& line) { return number(line.record->field_number(name)); }};
}

PageColumn measure(const char* name, const char* head, const std::string& under,
                   const std::string& title, std::vector<std::string> doubted,
                   std::function<PageCell(const PageLine&)> cell) {
  return {.name = name,
          .head = head,
          .under = under,
          .title = title,
          .is_number = true,
          .doubted = std::move(doubted),
          .cell = std::move(cell)};
}

void add_what(std::vector<PageColumn>& out) {
  out.push_back({.name = "run", .head = "Run", .cell = [](const PageLine& line) {
                   return plain(line.name);
                 }});
  out.push_back(words("strategy", "Strategy", strategy_cell));
}

void add_where(std::vector<PageColumn>& out) {
  out.push_back(
      words("source", "Source", [](const PageLine& line) { return plain(line.record->source); }));
  out.push_back(
      words("table", "Table", [](const PageLine& line) { return plain(line.record->table); }));
  out.push_back(
      words("model", "Model", [](const PageLine& line) { return plain(model_of(*line.record)); }));
  out.push_back(field("gpus", true));
  out.push_back(words("gpu", "GPU",
                      [](const PageLine& line) { return plain(line.record->field_text("gpu")); }));
}

void add_layout(std::vector<PageColumn>& out) {
  for (const auto* name : {"tensor_parallel", "pipeline_parallel", "data_parallel"})
    out.push_back(field(name, true));
  for (const auto* name : {"micro_batch", "accumulate", "global_batch"}) out.push_back(field(name));
}

void add_outcome(std::vector<PageColumn>& out) {
  out.push_back(words("fit", "Fit", [](const PageLine& line) {
    const auto& record = *line.record;
    if (record.has_measurement() && line.out != "ran out of memory") return plain("ran");
    return plain(record.estimated ? std::string(name(record.estimated->fit)) : "");
  }));
  out.push_back(words("state", "State", state_cell));
}

// Adds two adjacent columns: the measured and the estimated values of one quantity.
void add_both(std::vector<PageColumn>& out, const std::string& name, const char* head,
              const std::string& title, std::vector<std::string> doubted,
              MeasuredAndEstimated PageNumbers::*which, const char* interval, double unit = 1) {
  const auto cell = [unit, which](std::optional<Interval> MeasuredAndEstimated::*kind) {
    return [=](const PageLine& line) { return ranged(line.numbers.*which.*kind, unit); };
  };
  out.push_back(measure(name.c_str(), head, "measured", title + interval, std::move(doubted),
                        cell(&MeasuredAndEstimated::measured)));
  out.push_back(measure(("estimated_" + name).c_str(), head, "estimated",
                        title + ", with the range of nine cases in ten", {},
                        cell(&MeasuredAndEstimated::estimated)));
}

void add_time(std::vector<PageColumn>& out) {
  add_both(out, "step", "Step s", "seconds per step", {"step_seconds", "step_time_s", "step_time"},
           &PageNumbers::step, ", with its 95 % interval");
  out.push_back(measure("error", "Error %", "of estimate", "estimated over measured time, less one",
                        {}, error_cell));
  out.push_back(measure("tokens_per_second", "Tokens/s", "measured", "tokens per second",
                        {"tokens_per_second", "samples_per_s"}, [](const PageLine& line) {
                          const auto& rate = line.numbers.rate.measured;
                          return rate ? number(rate->value) : PageCell{};
                        }));
  add_both(out, "days", "Days/100B", "days per 100B tokens", {"days_per_100b_tokens"},
           &PageNumbers::days, ", with their 95 % interval");
}

PageCell tflops_cell(const Record& record, const std::string& convention) {
  for (const auto& found : record.measured.tflops)
    if (found.convention == convention) {
      auto out = number(found.value);
      out.is_computed = found.computed;
      return out;
    }
  return {};
}

PageColumn estimated_tflops(const char* convention, double plan::Estimate::*member) {
  return measure("estimated_tflops", "TFLOPs", std::string("estimated, ") + convention,
                 std::string("TFLOPs per GPU by the convention ") + convention, {},
                 [member](const PageLine& line) {
                   const auto& guess = line.record->estimated;
                   const double value = guess ? (*guess).*member : 0;
                   return value > 0 ? number(value) : PageCell{};
                 });
}

// Adds one column per convention of counting FLOPs, because these cannot be compared. Estimates
// exist in two conventions.
void add_tflops(std::vector<PageColumn>& out, const std::vector<PageLine>& lines) {
  std::set<std::string> conventions;
  for (const auto& line : lines)
    for (const auto& found : line.record->measured.tflops) conventions.insert(found.convention);
  for (const auto& convention : conventions) {
    const auto name = clean(convention, 40);
    out.push_back(measure(
        "tflops", "TFLOPs", "measured, " + name, "TFLOPs per GPU by the convention " + name,
        {"tflops_per_gpu", "tflops"},
        [convention](const PageLine& line) { return tflops_cell(*line.record, convention); }));
  }
  out.push_back(estimated_tflops("megatron", &plan::Estimate::tflops_per_gpu));
  if (conventions.contains("simple6") || conventions.contains("simple8"))
    out.push_back(estimated_tflops("simple", &plan::Estimate::tflops_per_gpu_simple));
}

void add_memory(std::vector<PageColumn>& out) {
  add_both(out, "memory", "GiB", "peak memory of the fullest GPU",
           {"peak_memory_bytes", "mem_gb", "memory"}, &PageNumbers::memory, "", kGiB);
  out.push_back(measure("memory_limit", "GiB", "limit", "memory that a run can use on a GPU", {},
                        [](const PageLine& line) {
                          const auto& limit = line.numbers.memory_limit;
                          return limit ? number(*limit / kGiB) : PageCell{};
                        }));
}

// Hides the columns that few readers need until they are chosen. Of the TFLOPs columns only the
// first stays visible.
void hide_details(std::vector<PageColumn>& columns) {
  static const std::set<std::string> kDetails{
      "source",        "table", "gpu",        "step",         "estimated_step", "tokens_per_second",
      "data_parallel", "fit",   "accumulate", "global_batch", "memory_limit"};
  bool has_tflops = false;
  for (auto& column : columns) {
    const bool tflops = column.name == "tflops" || column.name == "estimated_tflops";
    column.is_hidden = column.is_hidden || kDetails.contains(column.name) || (tflops && has_tflops);
    has_tflops = has_tflops || tflops;
  }
}

// Adds a hidden column for each other quantity.
void add_others(std::vector<PageColumn>& out) {
  // Quantities with a column above, and those that the details of a run show.
  static const std::set<std::string_view> kOwn{
      "step_seconds",      "tokens_per_second", "days_per_100b_tokens", "tflops_per_gpu",
      "peak_memory_bytes", "gpu_hours",         "days_to_train",        "last_loss"};
  using Read = record::Quantity::Value (*)(const record::Quantity&, const Record&);
  const auto first = out.size();
  const auto cell = [](const record::Quantity& quantity, Read read) {
    return [&quantity, read](const PageLine& line) {
      const auto value = read(quantity, *line.record);
      return value ? number(record::in_unit(quantity.unit, value->value)) : PageCell{};
    };
  };
  for (const auto& quantity : record::quantities()) {
    if (quantity.rank == record::kUnshown || kOwn.contains(quantity.name)) continue;
    const std::string name(quantity.name), head(quantity.head), title(quantity.title);
    if (!quantity.planned)
      out.push_back(measure(name.c_str(), head.c_str(), "measured", title, {name},
                            cell(quantity, record::measured)));
    if (quantity.estimated)
      out.push_back(measure(("estimated_" + name).c_str(), head.c_str(), "estimated", title, {},
                            cell(quantity, record::estimated)));
  }
  for (auto i = first; i < out.size(); ++i) out[i].is_hidden = true;
}

}  // namespace

std::vector<PageColumn> columns_of(const std::vector<PageLine>& lines) {
  std::vector<PageColumn> out;
  add_what(out);
  add_time(out);
  add_where(out);
  add_tflops(out, lines);
  add_memory(out);
  add_outcome(out);
  add_others(out);
  out.push_back(
      measure("doubts", "Doubts", "", "why a number is not to be believed", {}, doubts_cell));
  add_layout(out);
  hide_details(out);
  return out;
}

}  // namespace orch::page
