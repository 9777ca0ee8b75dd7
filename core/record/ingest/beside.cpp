#include "core/record/ingest/beside.h"

#include <algorithm>

#include "core/base/text.h"
#include "core/record/ingest/conclude.h"
#include "core/record/ingest/number.h"

namespace orch::ingest {

using record::Record, record::State;

std::vector<std::string> outputs_beside(const fs::path& errors) {
  const auto extension = errors.extension().string();
  const auto named = [&](const std::string& other) {
    return fs::path(errors).replace_extension(other).string();
  };
  if (extension == ".err") return {named(".out"), named(".log"), named(".txt")};
  const bool numbered =
      extension.starts_with(".e") && extension.size() > 2 &&
      std::all_of(extension.begin() + 2, extension.end(), number_detail::is_digit);
  if (numbered) return {named(".o" + extension.substr(2))};
  return {};
}

bool only_ended(const Record& found) {
  const bool ended = found.state == State::failed || found.state == State::cancelled;
  return ended && found.measured.steps == 0 && !found.has_measurement() &&
         !found.field("global_batch") && !found.field("layers");
}

void take_end(const Record& errors, Record& run) {
  if (errors.failure == record::Failure::bad_exit) return;
  if (run.state == State::finished || run.state == State::stopped) {
    run.notes = with(run.notes, "after the end: " + errors.reason);
    return;
  }
  if (run.state != State::running || run.measured.restarts > 0) return;
  run.state = errors.state;
  run.failure = errors.failure;
  run.reason = errors.reason;
  if (run.origin.job.empty()) run.origin.job = errors.origin.job;
}

}  // namespace orch::ingest
