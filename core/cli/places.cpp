#include "core/cli/places.h"

#include <cstdlib>

#include "core/base/text.h"
#include "core/launch/local_machine.h"

namespace orch::cli {
namespace {

bool is_home(const fs::path& folder) {
  std::error_code unreadable;
  return fs::exists(folder / "experiments/models.lua", unreadable) &&
         fs::exists(folder / "templates/slurm", unreadable);
}

fs::path home_of(const fs::path& program) {
  const auto installed = program.parent_path().parent_path() / "share/orch";
  if (is_home(installed)) return installed;
  for (auto folder = program.parent_path(); folder.has_relative_path();
       folder = folder.parent_path())
    if (is_home(folder)) return folder;
  return {};
}

// By host: a home is often shared by machines of several kinds.
fs::path own_clusters() {
  const char* data = std::getenv("XDG_DATA_HOME");
  const char* home = std::getenv("HOME");
  fs::path folder;
  if (data && *data == '/')
    folder = data;
  else if (home && *home == '/')
    folder = fs::path(home) / ".local/share";
  else
    return {};
  return folder / "orch/machines" / launch::host_name();
}

}  // namespace

std::vector<fs::path> Places::cluster_folders() const {
  std::error_code none;
  if (!fs::is_directory(own_clusters, none)) return {clusters()};
  return {own_clusters, clusters()};
}

Result<Places> find_places() {
  std::error_code code;
  const auto program = fs::read_symlink("/proc/self/exe", code);
  Places places;
  const char* home = std::getenv("ORCH_HOME");
  places.home = home && *home ? fs::path(home) : home_of(program);
  if (!is_home(places.home))
    return Error{places.home.empty() ? "orch" : printable(places.home.string()),
                 "experiments/models.lua and templates/slurm are not there, or cannot be read",
                 "set ORCH_HOME to the folder that holds experiments/ and templates/"};
  if (const char* plugins = std::getenv("ORCH_PLUGINS"); plugins && *plugins)
    for (const auto& folder : split(plugins, ':'))
      if (!folder.empty()) places.plugins.emplace_back(folder);
  const auto prefix = program.parent_path().parent_path();
  std::vector<fs::path> own{prefix / "plugins", prefix / "lib/orch", prefix / "lib64/orch"};
  for (const auto& library : entries_of(prefix / "lib"))
    own.push_back(library / "orch");  // lib/aarch64-linux-gnu/orch
  for (const auto& folder : own)
    if (fs::is_directory(folder, code)) places.plugins.push_back(folder);
  places.trainers = program.parent_path();
  places.own_clusters = own_clusters();
  return places;
}

}  // namespace orch::cli
