#include "core/show/tables/validation.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/base/csv.h"
#include "core/base/text.h"
#include "core/base/units.h"
#include "core/show/tables/json.h"

namespace orch::tables {
namespace {

using published::Judged, published::Score;
using Cells = std::vector<std::string>;

constexpr std::size_t kWorst = 10;

std::string percent(const std::optional<double>& value, int digits = 1) {
  return value ? fmt::format("{:.{}f}", *value, digits) : "-";
}

std::string seconds(double value) {
  return fmt::format("{:.{}f}", value, value >= 100 ? 1 : value >= 1 ? 2 : 3);
}

Cells score_cells(const std::string& name, const Score& s) {
  return {printable(name),
          std::to_string(s.n),
          percent(s.mape),
          percent(s.median),
          percent(s.p90),
          s.bias ? fmt::format("{:+.1f}", *s.bias) : "-",
          percent(s.spearman, 2),
          percent(s.regret, 2),
          percent(s.coverage90, 0),
          std::to_string(s.memory_n),
          percent(s.memory_mape),
          std::to_string(s.oom_hit),
          std::to_string(s.oom_miss),
          std::to_string(s.oom_false_alarm)};
}

Rows score_grid(const Validation& v, const std::string& indent) {
  Rows grid{{"source, table", "n", "MAPE %", "median", "p90", "bias", "Spearman", "regret %",
             "in range %", "memory n", "MAPE %", "OOM hit", "miss", "false"}};
  const bool verdicts = v.detail != Detail::all;
  if (verdicts) grid.front().insert(grid.front().end(), {"recall %", "precision %"});
  if (v.detail == Detail::size) grid.front().front() = "source, size";
  const auto add = [&](const std::string& name, const Score& score) {
    grid.push_back(score_cells(name, score));
    if (!verdicts) return;
    grid.back().push_back(percent(score.recall()));
    grid.back().push_back(percent(score.precision()));
  };
  for (const auto& [source, score] : v.scores.by_source) {
    add(source, score);
    if (v.detail == Detail::source) continue;
    for (const auto& table : v.scores.tables.at(source))
      add(indent + table, v.scores.by_table.at(table));
  }
  return grid;
}

std::string range(const Judged& row) {
  const auto& p = row.prediction;
  return p.step_low < p.step_high ? seconds(p.step_low) + "-" + seconds(p.step_high) : "";
}

std::string gib(const std::optional<double>& bytes) { return bytes ? format_gib(*bytes) : ""; }

// What there is to say about a row: what it was taken for, and that nobody explained it.
std::string remarks(const Validation& v, const Judged& row) {
  Cells parts;
  if (const auto odd = v.unexplained.find(row.sample->id); odd != v.unexplained.end())
    parts.push_back("unexplained: " + odd->second.reason);
  if (row.gave_factor) parts.emplace_back("its table is calibrated on it");
  if (row.sample->host_oom) parts.emplace_back("the host ran out of memory, not the GPU");
  for (const auto& assumed : row.sample->assumed) parts.push_back("assumed " + assumed);
  return printable(join(parts, "; "));
}

Rows row_grid(const Validation& v, const std::vector<const Judged*>& rows) {
  Rows grid{{"row", "table", "measured s", "predicted s", "range", "error %", "GiB", "predicted",
             "fit", "status", "remarks"}};
  for (const auto* row : rows) {
    const auto& s = *row->sample;
    grid.push_back({printable(s.id), printable(s.table),
                    s.step_seconds ? seconds(*s.step_seconds) : "",
                    seconds(row->prediction.step_seconds), range(*row),
                    row->has_time() ? fmt::format("{:+.1f}", row->error()) : "",
                    gib(s.memory_bytes), format_gib(row->memory_bytes()),
                    std::string(plan::name(row->prediction.fit)), s.status, remarks(v, *row)});
  }
  return grid;
}

std::vector<const Judged*> all(const Validation& v) {
  std::vector<const Judged*> rows;
  for (const auto& row : v.rows) rows.push_back(&row);
  return rows;
}

std::vector<const Judged*> worst(const Validation& v) {
  std::vector<const Judged*> rows;
  for (const auto& row : v.rows)
    if (row.has_time()) rows.push_back(&row);
  std::stable_sort(rows.begin(), rows.end(), [](const Judged* a, const Judged* b) {
    return std::abs(a->error()) > std::abs(b->error());
  });
  if (rows.size() > kWorst) rows.resize(kWorst);
  return rows;
}

// Rows whose fate was predicted wrongly: they ran out of memory or they did not.
std::string wrong_fates(const Validation& v) {
  std::string out;
  for (const auto& row : v.rows) {
    const bool predicted = row.prediction.fit == plan::Fit::oom;
    if (row.sample->oom == predicted || row.sample->status == "hang") continue;
    const auto why = remarks(v, row);
    out += fmt::format("  {}: {}, predicted {} GiB of {}{}\n", printable(row.sample->id),
                       row.sample->oom ? "ran out of memory" : "ran",
                       format_gib(row.prediction.peak_memory),
                       format_gib(row.sample->run.partition->gpu.usable_memory.value),
                       why.empty() ? "" : " (" + why + ")");
  }
  return out.empty() ? "" : "\nWrong about memory:\n" + out;
}

std::string skipped(const Validation& v) {
  std::map<std::string, Cells> by_reason;
  for (const auto& row : v.samples.skipped) by_reason[row.reason].push_back(row.id);
  std::string out;
  for (const auto& [reason, ids] : by_reason)
    out +=
        fmt::format("  {:>3}  {}: {}\n", ids.size(), printable(reason), printable(join(ids, ", ")));
  return out.empty() ? "" : "\nSkipped:\n" + out;
}

Json score_json(const published::Score& s) {
  return {{"n", s.n},
          {"mape", or_null(s.mape)},
          {"median", or_null(s.median)},
          {"p90", or_null(s.p90)},
          {"bias", or_null(s.bias)},
          {"spearman", or_null(s.spearman)},
          {"regret", or_null(s.regret)},
          {"coverage90", or_null(s.coverage90)},
          {"memory_n", s.memory_n},
          {"memory_mape", or_null(s.memory_mape)},
          {"oom_hit", s.oom_hit},
          {"oom_miss", s.oom_miss},
          {"oom_false_alarm", s.oom_false_alarm},
          {"oom_recall", or_null(s.recall())},
          {"oom_precision", or_null(s.precision())}};
}

Json scores_json(const std::map<std::string, published::Score>& scores) {
  Json json = Json::object();
  for (const auto& [name, score] : scores) json[name] = score_json(score);
  return json;
}

Json row_json(const published::Judged& row) {
  const auto& s = *row.sample;
  const auto& p = row.prediction;
  return {{"id", s.id},
          {"source", s.source},
          {"table", s.table},
          {"measured_seconds", or_null(s.step_seconds)},
          {"predicted_seconds", p.step_seconds},
          {"low", p.step_low},
          {"high", p.step_high},
          {"error", row.has_time() ? Json(row.error()) : Json()},
          {"measured_memory", or_null(s.memory_bytes)},
          {"predicted_memory", std::llround(row.memory_bytes())},
          {"fit", plan::name(p.fit)},
          {"status", s.status},
          {"assumed", s.assumed}};
}

}  // namespace

Validation::Validation(const std::vector<Judged>& judged, const published::Samples& all_samples,
                       const UnexplainedRows& odd, std::string how, Detail shown)
    : rows(judged),
      samples(all_samples),
      unexplained(odd),
      calibrate(std::move(how)),
      detail(shown) {
  for (const auto& [id, row] : odd)
    if (row.apart) apart.insert(id);
  scores = published::score(judged, apart,
                           shown == Detail::size ? published::By::size : published::By::table);
}

std::vector<std::string> Validation::beyond(double percent) const {
  const bool parts = detail == Detail::table || detail == Detail::size;
  return published::Scores::beyond(parts ? scores.by_table : scores.by_source, percent);
}

std::string left_out(const Validation& v) {
  return fmt::format("{} judged, {} skipped; left out: {} suspect, {} printed twice\n",
                     plural(v.rows.size(), "row"), v.samples.skipped.size(), v.samples.suspect,
                     v.samples.duplicates);
}

std::string validation_table(const Validation& v, const Screen& screen, bool all_rows) {
  const auto scores = grid(score_grid(v, screen.markdown ? "· " : "  "), screen);
  if (screen.markdown) return all_rows ? scores + "\n" + grid(row_grid(v, all(v)), screen) : scores;
  auto out = fmt::format("Predicted against measured, calibrated: {}. Errors in percent.\n\n",
                         v.calibrate) +
             scores;
  if (v.detail != Detail::all && !all_rows) return out + wrap(skipped(v) + "\n" + left_out(v), screen);
  out += all_rows ? "\nRows:\n" : "\nFurthest off:\n";
  out += grid(row_grid(v, all_rows ? all(v) : worst(v)), screen);
  return out + wrap(wrong_fates(v) + skipped(v) + "\n" + left_out(v), screen);
}

std::string validation_csv(const Validation& v) {
  CsvWriter out(
      "id,source,table,measured_seconds,predicted_seconds,low,high,error,measured_memory,"
      "predicted_memory,fit,status,assumed");
  for (const auto& row : v.rows) {
    const auto& s = *row.sample;
    const auto& p = row.prediction;
    out.row({s.id, s.source, s.table, s.step_seconds, p.step_seconds, p.step_low, p.step_high,
             row.has_time() ? CsvCell(row.error()) : CsvCell(), s.memory_bytes,
             fmt::format("{:.0f}", row.memory_bytes()), plan::name(p.fit), s.status,
             join(s.assumed, "; ")});
  }
  return out.text();
}

std::string validation_json(const Validation& v) {
  Json rows = Json::array(), skipped = Json::array();
  for (const auto& row : v.rows) rows.push_back(row_json(row));
  for (const auto& row : v.samples.skipped)
    skipped.push_back(
        {{"id", row.id}, {"source", row.source}, {"table", row.table}, {"reason", row.reason}});
  return dump({{"version", 1},
               {"by_source", scores_json(v.scores.by_source)},
               {"by_table", scores_json(v.scores.by_table)},
               {"rows", std::move(rows)},
               {"skipped", std::move(skipped)}});
}

}  // namespace orch::tables
