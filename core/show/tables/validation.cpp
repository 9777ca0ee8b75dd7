#include "core/show/tables/validation.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/base/text.h"
#include "core/base/units.h"

namespace orch::tables {
namespace {

using published::JudgedSample, published::GroupScore;
using show::Cell, show::Value;
using Cells = std::vector<std::string>;

constexpr std::size_t kWorst = 10;

std::string percent(const std::optional<double>& value, int digits = 1) {
  return value ? fmt::format("{:.{}f}", *value, digits) : "-";
}

std::string seconds(double value) {
  return fmt::format("{:.{}f}", value, value >= 100 ? 1 : value >= 1 ? 2 : 3);
}

// A source, or one of its tables.
struct ScoredSource {
  std::string name, of;  // of: the source of a table
  const GroupScore* score;
};

show::Table scores_table(const Validation& v) {
  std::vector<ScoredSource> rows;
  for (const auto& [source, score] : v.scores.by_source) {
    rows.push_back({source, "", &score});
    if (v.detail == ScoreDetail::source) continue;
    for (const auto& table : v.scores.tables.at(source))
      rows.push_back({table, source, &v.scores.by_table.at(table)});
  }
  show::Columns<ScoredSource> columns(std::move(rows));
  columns.add("source", [](const ScoredSource& s) { return s.of.empty() ? s.name : s.of; });
  columns.add(
      "table", v.detail == ScoreDetail::size ? "source, size" : "source, table", 0,
      [](const ScoredSource& s) -> Cell {
        return {s.of.empty() ? Value() : Value(s.name), (s.of.empty() ? "" : "· ") + s.name};
      });
  const auto share = [&](const char* name, const char* title,
                         std::optional<double> GroupScore::*which, int digits = 1) {
    columns.add(name, title, 0, [which, digits](const ScoredSource& s) -> Cell {
      const auto& value = (*s.score).*which;
      return {value ? Value(*value) : Value(), percent(value, digits)};
    });
  };
  const auto count = [&](const char* name, const char* title, std::size_t GroupScore::*which) {
    columns.add(name, title, 0, [which](const ScoredSource& s) { return (*s.score).*which; });
  };
  count("n", "n", &GroupScore::n);
  share("mape", "MAPE %", &GroupScore::mape);
  share("median", "median", &GroupScore::median);
  share("p90", "p90", &GroupScore::p90);
  columns.add("bias", "bias", 0, [](const ScoredSource& s) -> Cell {
    const auto& bias = s.score->bias;
    return {bias ? Value(*bias) : Value(), bias ? fmt::format("{:+.1f}", *bias) : "-"};
  });
  share("spearman", "Spearman", &GroupScore::spearman, 2);
  share("regret", "regret %", &GroupScore::regret, 2);
  share("coverage90", "in range %", &GroupScore::coverage90, 0);
  count("memory_n", "memory n", &GroupScore::memory_n);
  share("memory_mape", "MAPE %", &GroupScore::memory_mape);
  count("oom_hit", "OOM hit", &GroupScore::oom_hit);
  count("oom_miss", "miss", &GroupScore::oom_miss);
  count("oom_false_alarm", "false", &GroupScore::oom_false_alarm);
  const bool verdicts = v.detail != ScoreDetail::all;
  const auto verdict = [&](const char* name, const char* title,
                           std::optional<double> (GroupScore::*which)() const) {
    columns.add(name, verdicts ? title : "", 0, [which](const ScoredSource& s) -> Cell {
      const auto value = (s.score->*which)();
      return {value ? Value(*value) : Value(), percent(value)};
    });
  };
  verdict("oom_recall", "recall %", &GroupScore::recall);
  verdict("oom_precision", "precision %", &GroupScore::precision);
  return columns.table("scores");
}

std::string range(const JudgedSample& row) {
  const auto& p = row.prediction;
  return p.step_low < p.step_high ? seconds(p.step_low) + "-" + seconds(p.step_high) : "";
}

std::string gib(const std::optional<double>& bytes) { return bytes ? format_gib(*bytes) : ""; }

// Remarks on a row: assumed values, and whether it is unexplained.
std::string remarks(const Validation& v, const JudgedSample& row) {
  Cells parts;
  if (const auto odd = v.unexplained.find(row.sample->id); odd != v.unexplained.end())
    parts.push_back("unexplained: " + odd->second.reason);
  if (row.gave_factor) parts.emplace_back("its table is calibrated on it");
  if (row.sample->host_oom) parts.emplace_back("the host ran out of memory, not the GPU");
  for (const auto& assumed : row.sample->assumed) parts.push_back("assumed " + assumed);
  return printable(join(parts, "; "));
}

// The rows with their predictions; for programs, also those that people do not see.
show::Table rows_table(const Validation& v, std::string name, std::string title,
                       std::vector<const JudgedSample*> rows) {
  show::Columns<JudgedSample> columns(std::move(rows));
  const auto text = [&](const char* head, auto read) { columns.add("", head, 0, read); };
  const auto seconds_cell = [](std::optional<double> value) -> Cell {
    return value ? Cell(Value(*value), seconds(*value)) : Cell();
  };
  columns.add("id", "row", 0, [](const JudgedSample& row) { return row.sample->id; });
  columns.add("source", [](const JudgedSample& row) { return row.sample->source; });
  columns.add("table", "table", 0, [](const JudgedSample& row) { return row.sample->table; });
  columns.add("measured_seconds", "measured s", 0,
              [=](const JudgedSample& row) { return seconds_cell(row.sample->step_seconds); });
  columns.add("predicted_seconds", "predicted s", 0,
              [=](const JudgedSample& row) { return seconds_cell(row.prediction.step_seconds); });
  columns.add("low", [](const JudgedSample& row) { return row.prediction.step_low; });
  columns.add("high", [](const JudgedSample& row) { return row.prediction.step_high; });
  text("range", range);
  columns.add("error", "error %", 0, [](const JudgedSample& row) -> Cell {
    return row.has_time() ? Cell(Value(row.error()), fmt::format("{:+.1f}", row.error())) : Cell();
  });
  columns.add("measured_memory", "GiB", 0, [](const JudgedSample& row) -> Cell {
    const auto& bytes = row.sample->memory_bytes;
    return {bytes ? Value(*bytes) : Value(), gib(bytes)};
  });
  columns.add("predicted_memory", "predicted", 0, [](const JudgedSample& row) -> Cell {
    return {Value(static_cast<std::int64_t>(std::llround(row.memory_bytes()))),
            format_gib(row.memory_bytes())};
  });
  columns.add("fit", "fit", 0,
              [](const JudgedSample& row) { return plan::name(row.prediction.fit); });
  columns.add("status", "status", 0, [](const JudgedSample& row) { return row.sample->status; });
  columns.add("assumed", [](const JudgedSample& row) { return join(row.sample->assumed, "; "); });
  text("remarks", [&v](const JudgedSample& row) { return remarks(v, row); });
  return columns.table(std::move(name), std::move(title));
}

std::vector<const JudgedSample*> all(const Validation& v) {
  std::vector<const JudgedSample*> rows;
  for (const auto& row : v.rows) rows.push_back(&row);
  return rows;
}

std::vector<const JudgedSample*> worst(const Validation& v) {
  std::vector<const JudgedSample*> rows;
  for (const auto& row : v.rows)
    if (row.has_time()) rows.push_back(&row);
  std::stable_sort(rows.begin(), rows.end(), [](const JudgedSample* a, const JudgedSample* b) {
    return std::abs(a->error()) > std::abs(b->error());
  });
  if (rows.size() > kWorst) rows.resize(kWorst);
  return rows;
}

// Rows for which the prediction of out-of-memory was wrong.
std::string wrong_fates(const Validation& v) {
  std::string out;
  for (const auto& row : v.rows) {
    const bool predicted = row.prediction.fit == plan::MemoryFit::oom;
    if (row.sample->oom == predicted || row.sample->status == "hang") continue;
    const auto why = remarks(v, row);
    out += fmt::format("  {}: {}, predicted {} GiB of {}{}\n", printable(row.sample->id),
                       row.sample->oom ? "ran out of memory" : "ran",
                       format_gib(row.prediction.peak_memory),
                       format_gib(row.sample->run.partition->gpu.usable_memory.value),
                       why.empty() ? "" : " (" + why + ")");
  }
  return out;
}

std::string skipped(const Validation& v) {
  std::map<std::string, Cells> by_reason;
  for (const auto& row : v.samples.skipped) by_reason[row.reason].push_back(row.id);
  std::string out;
  for (const auto& [reason, ids] : by_reason)
    out +=
        fmt::format("  {:>3}  {}: {}\n", ids.size(), printable(reason), printable(join(ids, ", ")));
  return out;
}

}  // namespace

Validation::Validation(const std::vector<JudgedSample>& judged,
                       const published::PublishedSamples& all_samples, const UnexplainedRows& odd,
                       std::string how, ScoreDetail shown)
    : rows(judged),
      samples(all_samples),
      unexplained(odd),
      calibrate(std::move(how)),
      detail(shown) {
  for (const auto& [id, row] : odd)
    if (row.apart) apart.insert(id);
  scores = published::score(judged, apart,
                            shown == ScoreDetail::size ? published::ScoreGrouping::size
                                                       : published::ScoreGrouping::table);
}

std::vector<std::string> Validation::beyond(double percent) const {
  const bool parts = detail == ScoreDetail::table || detail == ScoreDetail::size;
  return published::Scores::beyond(parts ? scores.by_table : scores.by_source, percent);
}

std::string left_out(const Validation& v) {
  return fmt::format("{} judged, {} skipped; left out: {} suspect, {} duplicates\n",
                     plural(v.rows.size(), "row"), v.samples.skipped.size(), v.samples.suspect,
                     v.samples.duplicates);
}

show::Answer validation_answer(const Validation& v, bool all_rows) {
  show::Answer out;
  const auto add = [&](show::Section section) { out.sections.push_back(std::move(section)); };
  const auto say = [&](const char* kind, const char* title, std::string text) {
    if (!text.empty()) add(show::Findings{title, {{kind, std::move(text)}}});
  };
  const auto rows = rows_table(v, "rows", "Rows", all(v));
  auto scores = scores_table(v);
  scores.above = {
      fmt::format("Predicted against measured, calibrated: {}. Errors in percent.", v.calibrate)};
  add(show::for_programs(rows));  // CSV always has them
  add(std::move(scores));
  if (all_rows) add(show::for_people(rows));
  if (v.detail == ScoreDetail::all && !all_rows) add(rows_table(v, "", "Furthest off", worst(v)));
  if (v.detail == ScoreDetail::all || all_rows) say("memory", "Wrong about memory", wrong_fates(v));
  say("skipped", "Skipped", skipped(v));
  show::Columns<published::SkippedRow> gone(v.samples.skipped);
  gone.add("id", [](const auto& row) { return row.id; });
  gone.add("source", [](const auto& row) { return row.source; });
  gone.add("table", [](const auto& row) { return row.table; });
  gone.add("reason", [](const auto& row) { return row.reason; });
  add(gone.table("skipped"));
  say("left_out", "", left_out(v));
  return out;
}

}  // namespace orch::tables
