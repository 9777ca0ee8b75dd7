#include <cmath>

#include "core/base/draft.h"
#include "core/base/json_fields.h"
#include "core/base/json_writer.h"
#include "core/base/text.h"
#include "core/run/store/outcome_json.h"
#include "core/run/store/run_folder.h"

namespace orch::store {
namespace {

using record::Outcome;
using record::Progress;

constexpr auto kOutcomeFix = "move that file away: orch resume makes it again from what is known";

// JSON has no NaN.
double finite(double number) { return std::isfinite(number) ? number : 0; }

void write(JsonWriter& to, const Progress& progress) {
  to.begin("progress")
      .field("step", progress.step)
      .field("time", finite(progress.time))
      .field("age", finite(progress.age));
  if (progress.loss && std::isfinite(*progress.loss))
    to.field("loss", *progress.loss);
  else
    to.null("loss");
  const auto maybe = [&](const char* key, const std::optional<double>& number) {
    if (number && std::isfinite(*number)) to.field(key, *number);
  };
  maybe("evaluation_loss", progress.evaluation_loss);
  maybe("gradient_norm", progress.gradient_norm);
  maybe("learning_rate", progress.learning_rate);
  maybe("communicated_bytes", progress.communicated_bytes);
  maybe("bubble", progress.bubble);
  to.field("step_seconds", finite(progress.step_seconds))
      .field("tokens_per_second", finite(progress.tokens_per_second))
      .field("peak_memory_bytes", finite(progress.peak_memory))
      .field("tokens", finite(progress.tokens))
      .end();
}

Progress read_progress(Fields& fields) {
  Progress progress;
  progress.step = fields.whole("step");
  progress.time = fields.number("time");
  progress.age = fields.number("age");
  const auto maybe = [&](const char* key, std::optional<double>& to) {
    if (fields.has(key)) to = fields.number(key);
  };
  maybe("loss", progress.loss);
  maybe("evaluation_loss", progress.evaluation_loss);
  maybe("gradient_norm", progress.gradient_norm);
  maybe("learning_rate", progress.learning_rate);
  maybe("communicated_bytes", progress.communicated_bytes);
  maybe("bubble", progress.bubble);
  progress.step_seconds = fields.number("step_seconds");
  progress.tokens_per_second = fields.number("tokens_per_second");
  progress.peak_memory = fields.number("peak_memory_bytes");
  progress.tokens = fields.number("tokens");
  return progress;
}

}  // namespace

Outcome parse_outcome(Fields& fields) {
  Outcome outcome;
  const auto state = record::parse_state(fields.text("state"));
  const auto failure = record::parse_failure(fields.text("failure"));
  if (!state) fields.complain("'state' is none that a run has");
  if (!failure) fields.complain("'failure' is none that a run has");
  outcome.verdict = {state.value_or(record::State::planned),
                     failure.value_or(record::Failure::none), fields.text("reason")};
  outcome.cancel_asked = fields.flag("cancel_asked");
  outcome.retries_from = static_cast<int>(fields.whole("retries_from", 0, 1'000'000'000));
  outcome.gpu_hours = fields.number("gpu_hours");
  outcome.end = fields.number("end");
  outcome.elapsed_seconds = fields.number("elapsed_seconds");
  outcome.submission = fields.text("submission");
  if (fields.has("progress")) {
    auto progress = fields.object("progress");
    outcome.progress = read_progress(progress);
  }
  return outcome;
}

Result<std::optional<Outcome>> read_outcome(const fs::path& run_folder) {
  const auto path = run_folder / "state.json";
  const auto json = read_json(path, {.fix = kOutcomeFix});
  if (!json) return json.error();
  if (!*json) return std::optional<Outcome>();
  Fields fields(**json);
  auto outcome = parse_outcome(fields);
  if (!fields.problem().empty()) return damaged(path, fields.problem(), kOutcomeFix);
  return std::optional(std::move(outcome));
}

std::string outcome_json(const Outcome& outcome) {
  JsonWriter to;
  to.begin()
      .field("version", std::int64_t{1})
      .field("state", name(outcome.verdict.state))
      .field("failure", name(outcome.verdict.failure))
      .field("reason", printable(outcome.verdict.reason))
      .field("cancel_asked", outcome.cancel_asked)
      .field("retries_from", std::int64_t{outcome.retries_from})
      .field("gpu_hours", finite(outcome.gpu_hours))
      .field("end", finite(outcome.end))
      .field("elapsed_seconds", finite(outcome.elapsed_seconds))
      .field("submission", printable(outcome.submission));
  if (outcome.progress)
    write(to, *outcome.progress);
  else
    to.null("progress");
  return std::move(to.end()).text();
}

Status write_outcome(const fs::path& run_folder, const Outcome& outcome) {
  return write_file_atomically(run_folder / "state.json", outcome_json(outcome));
}

Status write_outcomes(const std::vector<OutcomeOf>& outcomes) {
  std::vector<DraftFile> drafts;
  for (const auto& [run_folder, outcome] : outcomes) {
    auto draft = DraftFile::create(run_folder / "state.json");
    if (!draft) return draft.error();
    if (auto status = draft->append(outcome_json(outcome)); !status) return status;
    if (auto status = draft->close(); !status) return status;
    drafts.push_back(std::move(*draft));
  }
  if (outcomes.empty()) return {};
  if (auto status = sync_disk_of(outcomes.front().run_folder); !status) return status;
  for (auto& draft : drafts)
    if (auto status = draft.publish(); !status) return status;
  return {};
}

}  // namespace orch::store
