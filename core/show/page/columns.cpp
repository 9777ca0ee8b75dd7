#include "core/show/page/columns.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "core/base/text.h"
#include "core/base/units.h"
#include "core/plan/vocabulary.h"
#include "core/record/quantities.h"
#include "core/record/record.h"
#include "core/show/page/parts.h"
#include "core/show/page/text.h"

namespace orch::page {
namespace {

using record::Record;
using show::Cell, show::Column, show::Value;

using PageColumns = show::Columns<PageLine>;

// A number without a text: the table formats all numbers of a column alike.
Cell number(const std::optional<double>& value) {
  Cell out;
  if (value && std::isfinite(*value)) out.value = *value;
  return out;
}

Cell ranged(const std::optional<Interval>& range, double unit = 1) {
  Cell out;
  if (!range) return out;
  out.value = range->value / unit;
  if (range->has_limits()) out.low = *range->low / unit, out.high = *range->high / unit;
  return out;
}

Cell strategy_cell(const PageLine& line) {
  Cell out(strategy_of(*line.record));
  out.small = line.variant;
  return out;
}

Cell state_cell(const PageLine& line) {
  const auto& record = *line.record;
  Cell out(record::name(record.state));
  if (record.failure != record::Failure::none)
    out.text += fmt::format(": {}", record::name(record.failure));
  std::ranges::replace(out.text, '_', ' ');
  if (!record.reason.empty()) out.more = {record.reason};
  if (const auto nan = record::nan_text(record.measured); !nan.empty()) out.small = "loss " + nan;
  return out;
}

Cell doubts_cell(const PageLine& line) {
  const auto& doubts = line.record->doubts;
  if (doubts.empty()) return {};
  Cell out(Value(static_cast<double>(doubts.size())), plural(doubts.size(), "doubt"));
  out.more = mapped(doubts, &record::Doubt::reason);
  return out;
}

Cell error_cell(const PageLine& line) {
  const auto error = line.numbers.error();
  return error ? Cell(*error, fmt::format("{:+.1f}", *error)) : Cell();
}

template <class Read>
Column& add_words(PageColumns& to, const char* name, const char* title, Read read) {
  auto& out = to.add(name, title, 0, std::move(read));
  out.has_choices = out.shared = true;
  out.doubted = {name};
  return out;
}

// The column of a numeric field.
Column& add_field(PageColumns& to, const char* name) {
  const auto& term = *plan::find_term(name);
  auto& out = to.add(name, std::string(term.head), 0, [name](const PageLine& line) {
    return number(line.record->field_number(name));
  });
  out.meaning = term.meaning;
  out.is_number = out.shared = true;
  out.doubted = {name, std::string(term.alias)};
  return out;
}

struct ColumnHead {
  std::string name, title, under, meaning;
  std::vector<std::string> doubted = {};
};

template <class Read>
void add_measure(PageColumns& to, ColumnHead head, Read read) {
  auto& out = to.add(std::move(head.name), std::move(head.title), 0, std::move(read));
  out.under = std::move(head.under);
  out.meaning = std::move(head.meaning);
  out.is_number = true;
  out.doubted = std::move(head.doubted);
}

void add_what(PageColumns& to) {
  to.add("run", "Run", 0, [](const PageLine& line) { return line.name; });
  add_words(to, "strategy", "Strategy", strategy_cell);
}

void add_where(PageColumns& to) {
  add_words(to, "source", "Source", [](const PageLine& line) { return line.record->source; });
  add_words(to, "table", "Table", [](const PageLine& line) { return line.record->table; });
  add_words(to, "model", "Model", [](const PageLine& line) { return model_of(*line.record); });
  add_field(to, "gpus").has_choices = true;
  add_words(to, "gpu", "GPU", [](const PageLine& line) { return line.record->field_text("gpu"); });
}

void add_layout(PageColumns& to) {
  for (const auto* name : {"tensor_parallel", "pipeline_parallel", "data_parallel"})
    add_field(to, name).has_choices = true;
  for (const auto* name : {"micro_batch", "accumulate", "global_batch"}) add_field(to, name);
}

void add_outcome(PageColumns& to) {
  add_words(to, "fit", "Fit", [](const PageLine& line) -> Cell {
    const auto& record = *line.record;
    if (record.has_measurement() && line.out != "ran out of memory") return "ran";
    return record.estimated ? Cell(name(record.estimated->fit)) : Cell();
  });
  add_words(to, "state", "State", state_cell);
}

// Adds two adjacent columns: the measured and the estimated values of one quantity.
void add_both(PageColumns& to, ColumnHead head, MeasuredAndEstimated PageNumbers::*which,
              const std::string& interval, double unit = 1) {
  const auto cell = [unit, which](std::optional<Interval> MeasuredAndEstimated::*kind) {
    return [=](const PageLine& line) { return ranged(line.numbers.*which.*kind, unit); };
  };
  const ColumnHead estimate{"estimated_" + head.name, head.title, "estimated",
                            head.meaning + ", with the range of nine cases in ten"};
  head.under = "measured", head.meaning += interval;
  add_measure(to, std::move(head), cell(&MeasuredAndEstimated::measured));
  add_measure(to, estimate, cell(&MeasuredAndEstimated::estimated));
}

void add_time(PageColumns& to) {
  add_both(to,
           {"step", "Step s", "", "seconds per step", {"step_seconds", "step_time_s", "step_time"}},
           &PageNumbers::step, ", with its 95 % interval");
  add_measure(to, {"error", "Error %", "of estimate", "estimated over measured time, less one"},
              error_cell);
  add_measure(to,
              {"tokens_per_second",
               "Tokens/s",
               "measured",
               "tokens per second",
               {"tokens_per_second", "samples_per_s"}},
              [](const PageLine& line) {
                const auto& rate = line.numbers.rate.measured;
                return rate ? number(rate->value) : Cell();
              });
  add_both(to, {"days", "Days/100B", "", "days per 100B tokens", {"days_per_100b_tokens"}},
           &PageNumbers::days, ", with their 95 % interval");
}

Cell tflops_cell(const Record& record, const std::string& convention) {
  for (const auto& found : record.measured.tflops)
    if (found.convention == convention) {
      auto out = number(found.value);
      out.is_computed = found.computed;
      return out;
    }
  return {};
}

void add_estimated_tflops(PageColumns& to, const std::string& convention,
                          double plan::Estimate::*member) {
  add_measure(to,
              {"estimated_tflops", "TFLOPs", "estimated, " + convention,
               "TFLOPs per GPU by the convention " + convention},
              [member](const PageLine& line) {
                const auto& guess = line.record->estimated;
                const double value = guess ? (*guess).*member : 0;
                return value > 0 ? number(value) : Cell();
              });
}

// Adds one column per convention of counting FLOPs, because these cannot be compared. Estimates
// exist in two conventions.
void add_tflops(PageColumns& to) {
  std::set<std::string> conventions;
  for (const auto* line : to.rows())
    for (const auto& found : line->record->measured.tflops) conventions.insert(found.convention);
  for (const auto& convention : conventions) {
    const auto name = clean(convention, 40);
    add_measure(
        to,
        {"tflops",
         "TFLOPs",
         "measured, " + name,
         "TFLOPs per GPU by the convention " + name,
         {"tflops_per_gpu", "tflops"}},
        [convention](const PageLine& line) { return tflops_cell(*line.record, convention); });
  }
  add_estimated_tflops(to, "megatron", &plan::Estimate::tflops_per_gpu);
  if (conventions.contains("simple6") || conventions.contains("simple8"))
    add_estimated_tflops(to, "simple", &plan::Estimate::tflops_per_gpu_simple);
}

void add_memory(PageColumns& to) {
  add_both(to,
           {"memory",
            "GiB",
            "",
            "peak memory of the fullest GPU",
            {"peak_memory_bytes", "mem_gb", "memory"}},
           &PageNumbers::memory, "", kGiB);
  add_measure(to, {"memory_limit", "GiB", "limit", "memory that a run can use on a GPU"},
              [](const PageLine& line) {
                const auto& limit = line.numbers.memory_limit;
                return limit ? number(*limit / kGiB) : Cell();
              });
}

// Adds a column for each other quantity.
void add_others(PageColumns& to) {
  // Quantities with a column above, and those that the details of a run show.
  static const std::set<std::string_view> kOwn{
      "step_seconds",      "tokens_per_second", "days_per_100b_tokens", "tflops_per_gpu",
      "peak_memory_bytes", "gpu_hours",         "days_to_train",        "last_loss"};
  using Read = record::Quantity::Value (*)(const record::Quantity&, const Record&);
  const auto cell = [](const record::Quantity& quantity, Read read) {
    return [&quantity, read](const PageLine& line) {
      const auto value = read(quantity, *line.record);
      return value ? number(record::in_unit(quantity.unit, value->value)) : Cell();
    };
  };
  for (const auto& quantity : record::quantities()) {
    if (quantity.rank == record::kUnshown || kOwn.contains(quantity.name)) continue;
    const std::string name(quantity.name), title(quantity.head), meaning(quantity.title);
    if (!quantity.planned)
      add_measure(to, {name, title, "measured", meaning, {name}}, cell(quantity, record::measured));
    if (quantity.estimated)
      add_measure(to, {"estimated_" + name, title, "estimated", meaning},
                  cell(quantity, record::estimated));
  }
}

// Hides the columns that few readers need until they are chosen: all that the list does not have.
// Of the TFLOPs columns only the first stays visible.
void hide_details(std::vector<Column>& columns) {
  static const std::set<std::string> kFirst{"run",        "strategy",         "error",
                                            "days",       "estimated_days",   "model",
                                            "gpus",       "tflops",           "estimated_tflops",
                                            "memory",     "estimated_memory", "state",
                                            "doubts",     "tensor_parallel",  "pipeline_parallel",
                                            "micro_batch"};
  bool has_tflops = false;
  for (auto& column : columns) {
    const bool tflops = column.name == "tflops" || column.name == "estimated_tflops";
    column.is_hidden = !kFirst.contains(column.name) || (tflops && has_tflops);
    has_tflops = has_tflops || tflops;
  }
}

}  // namespace

std::vector<Column> columns_of(const std::vector<PageLine>& lines) {
  PageColumns out(mapped(lines, [](const auto& line) { return &line; }));
  add_what(out);
  add_time(out);
  add_where(out);
  add_tflops(out);
  add_memory(out);
  add_outcome(out);
  add_others(out);
  add_measure(out, {"doubts", "Doubts", "", "why a number is not to be believed"}, doubts_cell);
  add_layout(out);
  auto columns = out.table("").columns;
  hide_details(columns);
  return columns;
}

}  // namespace orch::page
