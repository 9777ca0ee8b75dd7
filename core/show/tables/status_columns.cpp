#include "core/show/tables/status_columns.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/base/text.h"
#include "core/show/tables/status_words.h"
#include "core/show/tables/text_columns.h"
#include "core/show/tables/words.h"

namespace orch::tables {
namespace {

using Rows = std::vector<std::vector<std::string>>;
using Runs = std::vector<const RunStatus*>;

std::vector<std::string> cells(const StatusColumn& column, const Runs& runs) {
  std::vector<std::string> out = {column.title};
  for (const auto* run : runs) out.push_back(printable(column.text(*run)));
  return out;
}

}  // namespace

Rows rows_of(const std::vector<StatusColumn>& all, const Runs& runs, const Screen& screen) {
  std::vector<TextColumn> columns;
  for (const auto& column : all) columns.push_back({column.rank, cells(column, runs)});
  return fitting_rows(std::move(columns), screen);
}

namespace {

std::string known(double value) { return value > 0 ? significant(value) : ""; }

std::string percent(double share) { return fmt::format("{:.1f} %", 100 * share); }

// All in one unit, that of the largest.
struct Scale {
  double bytes = 1;
  std::string name = "B";
};

Scale scale_of(double largest, bool binary) {
  const double k = binary ? 1024 : 1000;
  if (largest >= k * k * k) return {k * k * k, binary ? "GiB" : "GB"};
  if (largest >= k * k) return {k * k, binary ? "MiB" : "MB"};
  return {k, binary ? "KiB" : "kB"};
}

double memory_of(const RunStatus& run) {
  return run.outcome.progress ? run.outcome.progress->peak_memory : 0;
}
double traffic_of(const RunStatus& run) {
  return run.outcome.progress ? run.outcome.progress->communicated_bytes.value_or(0) : 0;
}
std::optional<double> bubble_of(const RunStatus& run) {
  return run.outcome.progress ? run.outcome.progress->bubble : std::nullopt;
}
double rate_of(const RunStatus& run) {
  return run.outcome.progress ? run.outcome.progress->tokens_per_second : 0;
}

// Memory, traffic and idle time, each measured with its estimate beside it.
std::vector<StatusColumn> amount_columns(const Runs& runs, int rank) {
  double memory = 0, traffic = 0;
  for (const auto* run : runs) {
    memory = std::max({memory, memory_of(*run), run->facts.peak_memory});
    traffic = std::max({traffic, traffic_of(*run), run->facts.communicated_bytes});
  }
  const auto held = scale_of(memory, true), moved = scale_of(traffic, false);
  const auto in = [](const Scale& scale, double bytes) { return known(bytes / scale.bytes); };
  return {{held.name, rank, [=](const RunStatus& run) { return in(held, memory_of(run)); }},
          {"est.", rank,
           [=](auto& run) { return memory_of(run) > 0 ? in(held, run.facts.peak_memory) : ""; }},
          {"error", rank + 2,
           [](auto& run) { return error_text(run.facts.peak_memory, memory_of(run)); }},
          {moved.name + "/step", rank,
           [=](const RunStatus& run) { return in(moved, traffic_of(run)); }},
          {"est.", rank + 1, [=](auto& run) {
             return traffic_of(run) > 0 ? in(moved, run.facts.communicated_bytes) : "";
           }},
          {"bubble", rank, [](auto& run) { return bubble_of(run) ? percent(*bubble_of(run)) : ""; }},
          {"est.", rank + 1,
           [](auto& run) { return bubble_of(run) ? percent(run.facts.bubble) : ""; }}};
}

}  // namespace

std::vector<StatusColumn> status_columns(const Standings& standings, const Runs& runs) {
  const auto prefix = common_prefix(standings.runs);
  std::vector<StatusColumn> columns = {
      {"run", 0, [=](const RunStatus& run) { return id_text(run, prefix); }},
      {"state", 0, state_text},
      {"job", 4, [](const RunStatus& run) { return run.job; }},
      {"elapsed", 3, elapsed_text},
      {"step", 1, step_text},
      {"loss", 2, loss_text},
      {"eval loss", 3, evaluation_text},
      {"tokens/s", 5, rate_text},
      {"est.", 6,
       [](auto& run) { return rate_of(run) > 0 ? known(run.facts.tokens_per_second) : ""; }},
      {"left", 1, left_text},
      {"s/step", 2, measured_step_text},
      {"estimated", 2, estimated_step_text}};
  for (auto& column : amount_columns(runs, 6)) columns.push_back(std::move(column));
  columns.push_back({"reason", 0, reason_text});
  return columns;
}

std::vector<StatusColumn> measured_columns(const Runs& runs, const Screen& screen) {
  // What is measured stays in sight, however long a strategy's name is.
  const std::size_t longest =
      screen.width > 0 ? std::max<std::size_t>(12, screen.width - 24) : 1000;
  const auto shared = shared_settings(runs);
  const auto step = [](const RunStatus& run) { return run.outcome.progress->step_seconds; };
  std::vector<StatusColumn> columns = {
      {"strategy", 0,
       [=](const RunStatus& run) { return cut(strategy_text(run, shared), longest); }},
      {"ranks", 1, [](const RunStatus& run) { return std::to_string(run.facts.gpus); }},
      {"loss", 1, loss_text},
      {"eval loss", 4, evaluation_text},
      {"step s", 0, measured_step_text},
      {"est.", 1, [](const RunStatus& run) { return known(run.facts.step_seconds); }},
      {"error", 0, [=](auto& run) { return error_text(run.facts.step_seconds, step(run)); }},
      {"tokens/s", 2, rate_text},
      {"est.", 3,
       [](auto& run) { return rate_of(run) > 0 ? known(run.facts.tokens_per_second) : ""; }}};
  for (auto& column : amount_columns(runs, 2)) columns.push_back(std::move(column));
  const std::vector<StatusColumn> last = {
      {"days/100B", 5, [](const RunStatus& run) { return days_per_100b_text(rate_of(run)); }},
      {"est.", 5,
       [](auto& run) { return rate_of(run) > 0 ? known(run.facts.days_per_100b_tokens) : ""; }},
      {"GPU-h", 6, [](const RunStatus& run) { return significant(run.outcome.gpu_hours); }},
      {"est.", 6, [](const RunStatus& run) { return known(run.facts.gpu_hours); }},
      {"state", 3, state_text},
      {"run", 1, hash_text}};
  columns.insert(columns.end(), last.begin(), last.end());
  return columns;
}

}  // namespace orch::tables
