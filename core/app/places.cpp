#include "core/app/places.h"

#include <cstdlib>

#include "core/base/room.h"
#include "core/base/text.h"
#include "core/run/launch/local/local_machine.h"

namespace orch::app {
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

fs::path own_folder() {
  const char* data = std::getenv("XDG_DATA_HOME");
  const char* home = std::getenv("HOME");
  fs::path folder;
  if (data && *data == '/')
    folder = data;
  else if (home && *home == '/')
    folder = fs::path(home) / ".local/share";
  else
    return {};
  return folder / "orch";
}

}  // namespace

// Existing files only, and the shipped one once. The shipped ones always exist.
std::vector<fs::path> OrchFolders::found(const char* name, const fs::path& shipped) const {
  std::vector<fs::path> paths;
  for (const auto& folder : {beside, own}) {
    std::error_code none;
    const auto path = folder == "." ? fs::path(name) : folder / name;  // as people write it
    if (!folder.empty() && fs::exists(path, none) && !fs::equivalent(path, shipped, none))
      paths.push_back(path);
  }
  paths.push_back(shipped);
  return paths;
}

std::string OrchFolders::source(const fs::path& file) const {
  std::error_code none;
  const auto folder = file.has_parent_path() ? file.parent_path() : fs::path(".");
  const bool is_shipped = fs::equivalent(folder, clusters(), none) ||
                          fs::equivalent(folder, clusters().parent_path(), none);
  return is_shipped ? "shipped" : printable(folder.string());
}

// Clusters measured on this machine have priority over those that the user wrote for all machines.
std::vector<fs::path> OrchFolders::cluster_folders() const {
  auto folders = found("clusters", clusters());
  std::error_code none;
  if (!fs::is_directory(own_clusters, none)) return folders;
  const bool is_beside = folders.size() > 1 && !beside.empty() &&
                         fs::equivalent(folders.front(), beside / "clusters", none);
  folders.insert(folders.begin() + (is_beside ? 1 : 0), own_clusters);
  return folders;
}

// In a bundle, /proc/self/exe is the loader.
fs::path own_program() {
  std::error_code ignored;
  const auto program = fs::read_symlink("/proc/self/exe", ignored);
  if (program.filename() != "ld.so") return program;
  return program.parent_path().parent_path() / "bin/orch";
}

Result<OrchFolders> find_places() {
  std::error_code code;
  const auto program = own_program();
  OrchFolders places;
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
  places.own = own_folder();
  // By host: machines of several kinds often share a home folder.
  if (!places.own.empty()) places.own_clusters = places.own / "machines" / host_name();
  return places;
}

}  // namespace orch::app
