#include "core/show/tables/status_words.h"

#include <algorithm>
#include <set>

#include "core/record/quantities.h"
#include "core/show/tables/words.h"

namespace orch::tables {
namespace {

using RunStatuses = std::vector<const RunStatus*>;
using StatusColumns = std::vector<Column<RunStatus>>;

// All in one unit, that of the largest.
struct ByteScale {
  double bytes = 1;
  std::string name = "B";
};

ByteScale scale_of(double largest, bool binary) {
  const double k = binary ? 1024 : 1000;
  if (largest >= k * k * k) return {k * k * k, binary ? "GiB" : "GB"};
  if (largest >= k * k) return {k * k, binary ? "MiB" : "MB"};
  return {k, binary ? "KiB" : "kB"};
}

using record::Dimension;
using record::Quantity;

ByteScale scale_of(const Quantity& quantity, const RunStatuses& runs) {
  double largest = 0;
  for (const auto* run : runs)
    for (const auto& value :
         {record::measured(quantity, run->record), record::estimated(quantity, run->record)})
      if (value) largest = std::max(largest, value->value);
  auto scale = scale_of(largest, quantity.unit == Dimension::memory);
  if (quantity.unit == Dimension::traffic) scale.name += "/step";
  return scale;
}

using Text = std::function<std::string(double)>;

// What was measured, and the estimate where there is something to hold against it.
StatusColumns beside(const Quantity& quantity, std::string title, int rank,
                                 int estimate_rank, const Text& text) {
  return {{std::move(title), rank,
           [=](const RunStatus& run) {
             const auto value = record::measured(quantity, run.record);
             return value ? text(value->value) : "";
           }},
          {"est.", estimate_rank, [=](const RunStatus& run) {
             const auto value = record::estimated(quantity, run.record);
             return value && record::measured(quantity, run.record) ? text(value->value) : "";
           }}};
}

StatusColumns beside(std::string_view name, int rank) {
  const auto& quantity = *record::find_quantity(name);
  return beside(quantity, std::string(quantity.head), rank, rank + 1,
                [unit = quantity.unit](double value) { return quantity_text(unit, value); });
}

void add(StatusColumns more, StatusColumns& to) {
  for (auto& column : more) to.push_back(std::move(column));
}

// Every other quantity that somebody measured, with its estimate.
StatusColumns amount_columns(const RunStatuses& runs, int rank) {
  static const std::set<std::string_view> kOwn{"step_seconds",         "tokens_per_second",
                                               "days_per_100b_tokens", "gpu_hours",
                                               "last_loss",            "evaluation_loss"};
  StatusColumns out;
  for (const auto& quantity : record::quantities()) {
    if (kOwn.contains(quantity.name)) continue;
    if (!is_in_bytes(quantity)) {
      add(beside(quantity.name, rank), out);
      continue;
    }
    const auto scale = scale_of(quantity, runs);
    const bool memory = quantity.unit == Dimension::memory;
    add(beside(quantity, scale.name, rank, memory ? rank : rank + 1,
               [scale](double value) { return significant(value / scale.bytes); }),
        out);
    if (memory)
      out.push_back({"error", rank + 2, [&quantity](const RunStatus& run) {
                       const auto guess = record::estimated(quantity, run.record);
                       const auto truth = record::measured(quantity, run.record);
                       return guess && truth ? error_text(guess->value, truth->value) : "";
                     }});
  }
  return out;
}

}  // namespace

StatusColumns status_columns(const Standings& standings, const RunStatuses& runs) {
  const auto prefix = common_prefix(standings.runs);
  StatusColumns columns = {
      {"run", 0, [=](const RunStatus& run) { return id_text(run, prefix); }},
      {"state", 0, state_text},
      {"job", 4, [](const RunStatus& run) { return run.job; }},
      {"elapsed", 3, elapsed_text},
      {"step", 1, step_text},
      {"loss", 2, loss_text},
      {"eval loss", 3, evaluation_text}};
  add(beside("tokens_per_second", 5), columns);
  columns.push_back({"left", 1, left_text});
  columns.push_back({"s/step", 2, measured_step_text});
  columns.push_back({"estimated", 2, estimated_step_text});
  add(amount_columns(runs, 6), columns);
  columns.push_back({"reason", kBelow, reason_text});
  return columns;
}

StatusColumns measured_columns(const RunStatuses& runs, const Screen& screen) {
  // What is measured stays in sight, however long a strategy's name is.
  const std::size_t longest =
      screen.width > 0 ? std::max<std::size_t>(12, screen.width - 24) : 1000;
  const auto shared = shared_settings(runs);
  StatusColumns columns = {
      {"strategy", 0,
       [=](const RunStatus& run) { return cut(strategy_text(run, shared), longest); }},
      {"ranks", 1, [](const RunStatus& run) { return std::to_string(run.gpus()); }},
      {"loss", 1, loss_text},
      {"eval loss", 4, evaluation_text},
      {"step s", 0, measured_step_text},
      {"est.", 1,
       [](const RunStatus& run) {
         const double guess = run.estimated_step();
         return guess > 0 ? significant(guess) : "";
       }},
      {"error", 0, [](const RunStatus& run) {
         return error_text(run.estimated_step(), run.record.measured.step_seconds->value);
       }}};
  add(beside("tokens_per_second", 2), columns);
  add(amount_columns(runs, 2), columns);
  add(beside("days_per_100b_tokens", 5), columns);
  add(beside("gpu_hours", 6), columns);
  columns.push_back({"state", 3, state_text});
  columns.push_back({"run", 1, hash_text});
  return columns;
}

}  // namespace orch::tables
