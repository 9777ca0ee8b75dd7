#include "core/record/ingest/beside.h"

#include <algorithm>

#include "core/base/text.h"
#include "core/record/ingest/number.h"

namespace orch::ingest {

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

bool only_ended(const Found& found) {
  const auto& [row, record, more] = found;
  const bool ended =
      record.state == record::State::failed || record.state == record::State::cancelled;
  return ended && record.measured.steps == 0 && !record.has_measurement() && !row.gbs &&
         !row.layers;
}

void take_end(const Found& errors, Found& run) {
  auto& record = run.record;
  if (errors.record.failure == record::Failure::bad_exit) return;
  if (record.state == record::State::finished || record.state == record::State::stopped) {
    record.notes += (record.notes.empty() ? "" : "; ") + ("after the end: " + errors.record.reason);
    return;
  }
  if (record.state != record::State::running || record.measured.restarts > 0) return;
  record.state = errors.record.state;
  record.failure = errors.record.failure;
  record.reason = errors.record.reason;
  if (record.origin.job.empty()) record.origin.job = errors.record.origin.job;
  if (errors.row.status.empty()) return;
  run.row.status = errors.row.status;
  run.row.notes = errors.row.notes;
}

}  // namespace orch::ingest
