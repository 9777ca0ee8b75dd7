#include <array>
#include <cmath>

#include "core/base/draft.h"
#include "core/base/json_fields.h"
#include "core/base/json_writer.h"
#include "core/base/text.h"
#include "core/run/store/run_folder.h"

namespace orch::store {
namespace {

using record::LiveRun;
using record::Measurement;

constexpr auto kStateFix = "move that file away: orch resume makes it again from what is known";

// JSON has no NaN.
double finite(double number) { return std::isfinite(number) ? number : 0; }

// Quantities that have no member in Measurement.
constexpr std::array kStated{"evaluation_loss",    "gradient_norm", "learning_rate",
                             "communicated_bytes", "bubble",        "others_share",
                             "clock_mhz"};

void write(JsonWriter& to, const Measurement& measured) {
  const auto maybe = [&](const char* key, const std::optional<double>& number) {
    if (number && std::isfinite(*number)) to.field(key, *number);
  };
  to.begin("progress").field("step", measured.steps);
  maybe("loss", measured.last_loss);
  if (measured.step_seconds) maybe("step_seconds", measured.step_seconds->value);
  maybe("tokens_per_second", measured.tokens_per_second);
  maybe("peak_memory_bytes", measured.peak_memory_bytes);
  for (const auto* name : kStated)
    if (const auto held = measured.stated.find(name); held != measured.stated.end())
      maybe(name, held->second);
  to.end();
}

Measurement read_progress(JsonFields& fields) {
  Measurement out;
  const auto known = [&](const char* key) -> std::optional<double> {
    const double number = fields.has(key) ? fields.number(key) : 0;
    return number > 0 ? std::optional(number) : std::nullopt;
  };
  out.steps = fields.whole("step");
  if (fields.has("loss")) out.last_loss = fields.number("loss");
  if (const auto seconds = known("step_seconds"))
    out.step_seconds = statistics::Interval{*seconds, {}, {}, 1};
  out.tokens_per_second = known("tokens_per_second");
  out.peak_memory_bytes = known("peak_memory_bytes");
  for (const auto* name : kStated)
    if (fields.has(name)) out.stated.emplace(name, fields.number(name));
  return out;
}

}  // namespace

void parse_state(JsonFields& fields, LiveRun& run) {
  const auto state = record::parse_state(fields.text("state"));
  const auto failure = record::parse_failure(fields.text("failure"));
  if (!state) fields.complain("'state' is invalid");
  if (!failure) fields.complain("'failure' is invalid");
  run.take(record::StateVerdict{state.value_or(record::RunState::planned),
                                failure.value_or(record::Failure::none), fields.text("reason")});
  run.cancel_asked = fields.flag("cancel_asked");
  if (fields.has("cancelled_hang")) {
    auto hang = fields.object("cancelled_hang");
    run.cancelled_hang = {hang.text("submission"), hang.text("reason"),
                          hang.has("step") ? hang.whole("step") : 0};
  }
  run.retries_from = static_cast<int>(fields.whole("retries_from", 0, 1'000'000'000));
  run.record.measured.gpu_hours = fields.number("gpu_hours");
  run.record.origin.end = fields.number("end");
  run.elapsed_seconds = fields.number("elapsed_seconds");
  run.submission = fields.text("submission");
  if (fields.has("progress")) {
    auto progress = fields.object("progress");
    run.take(read_progress(progress));
  }
}

Status read_state(const fs::path& run_folder, LiveRun& run) {
  run.forget();
  run.record.measured.gpu_hours = 0;
  run.take(Measurement{});
  const auto path = run_folder / "state.json";
  const auto json = read_json(path, {.fix = kStateFix});
  if (!json) return json.error();
  if (!*json) return {};
  JsonFields fields(**json);
  auto found = run;
  parse_state(fields, found);
  if (!fields.problem().empty()) return damaged(path, fields.problem(), kStateFix);
  run = std::move(found);
  return {};
}

std::string state_json(const LiveRun& run) {
  JsonWriter to;
  to.begin()
      .field("version", std::int64_t{1})
      .field("state", name(run.record.state))
      .field("failure", name(run.record.failure))
      .field("reason", printable(run.record.reason))
      .field("cancel_asked", run.cancel_asked)
      .field("retries_from", std::int64_t{run.retries_from})
      .field("gpu_hours", finite(run.gpu_hours()))
      .field("end", finite(run.record.origin.end))
      .field("elapsed_seconds", finite(run.elapsed_seconds))
      .field("submission", printable(run.submission));
  if (const auto& hang = run.cancelled_hang)
    to.begin("cancelled_hang")
        .field("submission", printable(hang->submission))
        .field("reason", printable(hang->reason))
        .field("step", hang->step)
        .end();
  if (run.record.measured.steps > 0)
    write(to, run.record.measured);
  else
    to.null("progress");
  return std::move(to.end()).text();
}

Status write_states(const fs::path& experiment_folder, const std::vector<const LiveRun*>& runs) {
  std::vector<DraftFile> drafts;
  for (const auto* run : runs) {
    auto draft = DraftFile::create(experiment_folder / run->record.id / "state.json");
    if (!draft) return draft.error();
    if (auto status = draft->append(state_json(*run)); !status) return status;
    if (auto status = draft->close(); !status) return status;
    drafts.push_back(std::move(*draft));
  }
  if (runs.empty()) return {};
  const auto first = experiment_folder / runs.front()->record.id;
  if (auto status = sync_disk_of(first); !status) return status;
  for (auto& draft : drafts)
    if (auto status = draft.publish(); !status) return status;
  return {};
}

}  // namespace orch::store
