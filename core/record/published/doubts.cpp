#include "core/record/published/doubts.h"

#include <algorithm>
#include <map>

#include "core/base/text.h"
#include "core/record/published/columns.h"
#include "core/record/published/doubts_checks.h"
#include "core/record/published/said.h"

namespace orch::published {
namespace {

using record::Record;

// Whether two rows that look the same are the same, and not only equally silent.
bool says_enough(const Record& row) {
  const auto says = [&](const char* name) { return row.field(name) != nullptr; };
  const bool model = (says("layers") && says("hidden")) || says("params");
  return !says("dup_of") && model && says("gpus") &&
         (says("micro_batch") || says("global_batch")) && says("framework");
}

std::string configuration(const Record& row, const std::vector<std::string>& but_for) {
  std::string key = row.source;
  for (const auto& column : columns())
    if (column.of_run && std::find(but_for.begin(), but_for.end(), column.name) == but_for.end())
      key += '\n' + cell_text(column, row);
  return key;
}

}  // namespace

void Inquiry::add(std::size_t row, std::string kind, std::string field, std::string reason) {
  for (const auto& doubt : found[row])
    if (doubt.kind == kind && doubt.field == field) return;
  found[row].push_back({std::move(kind), std::move(field), std::move(reason)});
}

bool Inquiry::has(std::size_t row, const std::string& kind) const {
  return std::any_of(found[row].begin(), found[row].end(),
                     [&](const record::Doubt& doubt) { return doubt.kind == kind; });
}

std::string Inquiry::name(std::size_t row) const { return printable(rows[row].id); }

std::vector<std::vector<std::size_t>> alike(const Inquiry& inquiry,
                                            const std::vector<std::string>& but_for) {
  std::map<std::string, std::vector<std::size_t>> by_key;
  for (std::size_t i = 0; i < inquiry.rows.size(); ++i)
    if (says_enough(inquiry.rows[i])) by_key[configuration(inquiry.rows[i], but_for)].push_back(i);
  std::vector<std::vector<std::size_t>> sets;
  for (auto& [key, set] : by_key)
    if (set.size() > 1) sets.push_back(std::move(set));
  return sets;
}

std::vector<std::vector<record::Doubt>> doubts(const std::vector<Record>& rows,
                                               const FindGpu& gpu) {
  // Here nobody knows yet which rows are suspect.
  Inquiry inquiry{rows, {}, Peers(rows, Peers::Of::all), {}};
  for (const auto& row : rows) inquiry.gpus.push_back(gpu ? gpu(row) : std::nullopt);
  inquiry.found.resize(rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    doubt_layout(inquiry, i);
    doubt_rates(inquiry, i);
    doubt_memory(inquiry, i);
  }
  doubt_sizes(inquiry);
  doubt_formulas(inquiry);
  doubt_swaps(inquiry);
  doubt_repeats(inquiry);
  doubt_batches(inquiry);
  doubt_peer_memory(inquiry);
  return inquiry.found;
}

}  // namespace orch::published
