#include <chrono>

#include "core/run/store/index.h"
#include "core/run/store/run_folder.h"

namespace orch::store {
namespace {

double now() {
  using namespace std::chrono;
  return duration<double>(system_clock::now().time_since_epoch()).count();
}

Result<Index::Row> read_row(const fs::path& folder, const std::string& experiment) {
  auto facts = read_run_facts(folder);
  if (!facts) return facts.error();
  auto outcome = read_outcome(folder);
  if (!outcome) return outcome.error();
  facts->experiment = experiment;  // the folder may have been renamed
  return Index::Row{std::move(*facts), outcome->value_or(record::Outcome()), now()};
}

}  // namespace

Result<std::size_t> rebuild_index(const fs::path& root, Errors* damaged) {
  auto index = Index::open(root);
  if (!index.available())
    return Error{index.why(), "the index cannot be used", "orch works without it, but slower"};
  std::vector<Index::Row> rows;
  for (const auto& experiment : experiments(root))
    for (const auto& id : run_ids(root / experiment)) {
      auto row = read_row(root / experiment / id, experiment);
      if (row)
        rows.push_back(std::move(*row));
      else if (damaged)
        damaged->insert(damaged->end(), row.error().begin(), row.error().end());
    }
  index.replace_all(rows);
  if (!index.available())
    return Error{index.why(), "the index cannot be written", "orch works without it, but slower"};
  return rows.size();
}

}  // namespace orch::store
