#include "core/app/sources.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "core/base/text.h"

namespace orch::app {
namespace {

using launch::Check;

// "9 shipped, 2 in clusters"; the first error where one of them cannot be read.
Check check_of(const char* what, const std::map<std::string, int>& counts, const Errors& errors) {
  if (!errors.empty())
    return {what, Check::State::missing, errors.front().place + ": " + errors.front().fact,
            errors.front().fix};
  std::vector<std::string> parts;
  for (const auto& [source, count] : counts)
    parts.push_back(fmt::format("{} {}{}", count, source == "shipped" ? "" : "in ", source));
  return {what, Check::State::ok, join(parts, ", "), ""};
}

Check check_clusters(App& app) {
  std::map<std::string, int> counts;
  Errors errors;
  for (const auto& name : app.clusters().names()) {
    const auto cluster = app.clusters().find(name);
    if (cluster)
      ++counts[app.places().source((*cluster)->file)];
    else
      errors.insert(errors.end(), cluster.error().begin(), cluster.error().end());
  }
  return check_of("clusters", counts, errors);
}

Check check_gpus(App& app) {
  std::map<std::string, int> counts;
  const auto gpus = app.clusters().gpus();
  if (gpus)
    for (const auto& [name, profile] : *gpus) ++counts[app.places().source(profile.file)];
  return check_of("GPUs", counts, gpus ? Errors() : gpus.error());
}

Check check_models(App& app) {
  std::map<std::string, int> counts;
  const auto models = app.loader().presets();
  if (models)
    for (const auto& model : *models)
      ++counts[app.places().source(app.loader().preset_file(model.name))];
  return check_of("models", counts, models ? Errors() : models.error());
}

}  // namespace

tables::Rows without_plain(tables::Rows rows, const std::string& title, const std::string& word) {
  const auto found = std::find(rows.front().begin(), rows.front().end(), title);
  const auto column = found - rows.front().begin();
  const bool is_plain = std::all_of(rows.begin() + 1, rows.end(), [&](const auto& row) {
    return row[static_cast<std::size_t>(column)] == word;
  });
  if (is_plain)
    for (auto& row : rows) row.erase(row.begin() + column);
  return rows;
}

std::vector<Check> check_sources(App& app) {
  return {check_clusters(app), check_gpus(app), check_models(app)};
}

}  // namespace orch::app
