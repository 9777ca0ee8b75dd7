#include "core/base/json_fields.h"
#include "core/base/json_writer.h"
#include "core/base/text.h"
#include "core/run/store/run_folder.h"

namespace orch::store {

Status read_provenance(const fs::path& run_folder, record::Origin& into) {
  constexpr auto fix = "nothing depends on it: remove it";
  const auto path = run_folder / "provenance.json";
  const auto json = read_json(path, {.fix = fix});
  if (!json) return json.error();
  if (!*json) return {};
  JsonFields fields(**json);
  auto found = into;
  found.experiment_file = fields.text("experiment_file");
  found.cluster_file = fields.text("cluster_file");
  found.commit = fields.text("commit");
  if (fields.flag("changed")) found.commit += " (changed)";
  const auto orch = fields.text("orch");
  if (!orch.empty()) found.versions.emplace_back("orch", orch);
  if (!fields.problem().empty()) return damaged(path, fields.problem(), fix);
  into = std::move(found);
  return {};
}

std::string provenance_json(const Provenance& provenance) {
  JsonWriter to;
  to.begin()
      .field("version", std::int64_t{1})
      .field("orch", provenance.orch)
      .field("experiment_file", printable(provenance.experiment_file))
      .field("cluster_file", printable(provenance.cluster_file))
      .field("commit", printable(provenance.commit))
      .field("changed", provenance.changed);
  for (const auto& [key, list] :
       {std::pair("includes", &provenance.includes), std::pair("set", &provenance.set)}) {
    if (list->empty()) continue;
    to.begin_list(key);
    for (const auto& text : *list) to.item(printable(text));
    to.end_list();
  }
  return std::move(to.end()).text();
}

}  // namespace orch::store
