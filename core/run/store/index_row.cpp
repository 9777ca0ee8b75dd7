#include "core/run/store/index_row.h"

#include <cstdint>
#include <optional>
#include <type_traits>

namespace orch::store {
namespace {

// A row with what SQLite has no type for spelt out.
struct Flat {
  Index::Row row;
  std::string state;
  std::string failure;
  std::int64_t cancel_asked = 0;
  std::int64_t has_progress = 0;
  record::Progress progress;
};

// The columns, in one place: the table, the insertion and the query are made from this list.
template <class F, class Visit>
void each_column(F& flat, Visit&& visit) {
  auto& [facts, outcome, updated] = flat.row;
  visit("experiment", facts.experiment);
  visit("id", facts.id);
  visit("strategy", facts.strategy);
  visit("variant", facts.variant);
  visit("cluster", facts.cluster);
  visit("gpus", facts.gpus);
  visit("nodes", facts.nodes);
  visit("accumulate", facts.accumulate);
  visit("steps", facts.steps);
  visit("tokens_per_step", facts.tokens_per_step);
  visit("phases", facts.phases);
  visit("fit", facts.estimated.fit);
  visit("step_seconds", facts.estimated.step_seconds);
  visit("step_low", facts.estimated.step_low);
  visit("step_high", facts.estimated.step_high);
  visit("tokens_per_second", facts.estimated.tokens_per_second);
  visit("peak_memory", facts.estimated.peak_memory_bytes);
  visit("days_per_100b_tokens", facts.estimated.days_per_100b_tokens);
  visit("communicated_bytes", facts.estimated.communicated_bytes);
  visit("bubble", facts.estimated.bubble);
  visit("gpu_hours", facts.estimated.gpu_hours);
  visit("state", flat.state);
  visit("failure", flat.failure);
  visit("reason", outcome.verdict.reason);
  visit("cancel_asked", flat.cancel_asked);
  visit("retries_from", outcome.retries_from);
  visit("used_gpu_hours", outcome.gpu_hours);
  visit("end_time", outcome.end);
  visit("elapsed_seconds", outcome.elapsed_seconds);
  visit("submission", outcome.submission);
  visit("has_progress", flat.has_progress);
  visit("done_step", flat.progress.step);
  visit("done_time", flat.progress.time);
  visit("done_age", flat.progress.age);
  visit("done_loss", flat.progress.loss);
  visit("done_evaluation_loss", flat.progress.evaluation_loss);
  visit("done_gradient_norm", flat.progress.gradient_norm);
  visit("done_learning_rate", flat.progress.learning_rate);
  visit("done_communicated_bytes", flat.progress.communicated_bytes);
  visit("done_bubble", flat.progress.bubble);
  visit("done_step_seconds", flat.progress.step_seconds);
  visit("done_tokens_per_second", flat.progress.tokens_per_second);
  visit("done_peak_memory", flat.progress.peak_memory);
  visit("done_tokens", flat.progress.tokens);
  visit("updated", updated);
}

}  // namespace

std::string columns() {
  std::string out;
  Flat flat;
  each_column(flat, [&](const char* name, const auto&) {
    out += (out.empty() ? "" : ", ") + std::string(name);
  });
  return out;
}

std::string placeholders() {
  std::string out;
  Flat flat;
  each_column(flat, [&](const char*, const auto&) { out += out.empty() ? "?" : ", ?"; });
  return out;
}

namespace {

Flat flatten(const Index::Row& row) {
  Flat flat;
  flat.row = row;
  flat.state = name(row.outcome.verdict.state);
  flat.failure = name(row.outcome.verdict.failure);
  flat.cancel_asked = row.outcome.cancel_asked;
  flat.has_progress = row.outcome.progress.has_value();
  flat.progress = row.outcome.progress.value_or(record::Progress());
  return flat;
}

void bind(Statement& to, const Flat& flat) {
  each_column(flat, [&](const char*, const auto& value) {
    if constexpr (std::is_integral_v<std::decay_t<decltype(value)>>)
      to.bind(std::int64_t{value});
    else
      to.bind(value);
  });
}

void read(const Statement& from, int column, std::string& to) { to = from.text(column); }
void read(const Statement& from, int column, std::int64_t& to) { to = from.whole(column); }
void read(const Statement& from, int column, double& to) { to = from.number(column); }
void read(const Statement& from, int column, int& to) { to = static_cast<int>(from.whole(column)); }
void read(const Statement& from, int column, std::optional<double>& to) {
  if (!from.is_null(column)) to = from.number(column);
}

}  // namespace

int step_with(Statement& statement, const Index::Row& row) {
  const auto flat = flatten(row);
  bind(statement, flat);
  const int code = statement.step();
  statement.reset();
  return code;
}

Index::Row read_row(const Statement& from) {
  Flat flat;
  int column = 0;
  each_column(flat, [&](const char*, auto& value) { read(from, column++, value); });
  auto& outcome = flat.row.outcome;
  outcome.verdict.state = record::parse_state(flat.state).value_or(record::State::planned);
  outcome.verdict.failure = record::parse_failure(flat.failure).value_or(record::Failure::none);
  outcome.cancel_asked = flat.cancel_asked != 0;
  if (flat.has_progress != 0) outcome.progress = flat.progress;
  return std::move(flat.row);
}

}  // namespace orch::store
