#include "core/record/published/doubts.h"

#include "core/record/published/doubts_checks.h"

namespace orch::published {

void RowChecks::add(std::size_t row, std::string kind, std::string field, std::string reason) {
  for (const auto& doubt : found[row])
    if (doubt.kind == kind && doubt.field == field) return;
  found[row].push_back({std::move(kind), std::move(field), std::move(reason)});
}

std::vector<std::vector<record::Doubt>> doubts(const std::vector<record::Record>& rows,
                                               const FindGpu& gpu) {
  // At this point it is unknown which rows are suspect.
  RowChecks inquiry{rows, {}, PeerRows(rows, PeerRows::RowChoice::all), {}};
  for (const auto& row : rows) inquiry.gpus.push_back(gpu ? gpu(row) : std::nullopt);
  inquiry.found.resize(rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    doubt_layout(inquiry, i);
    doubt_rates(inquiry, i);
    doubt_memory(inquiry, i);
  }
  doubt_sizes(inquiry);
  return inquiry.found;
}

}  // namespace orch::published
