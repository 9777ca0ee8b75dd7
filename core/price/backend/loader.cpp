#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string_view>
#include <system_error>

#include "core/price/backend/backend.h"

namespace orch::backend {
namespace {

// The parts of a plug-in's file name: orch-megatron.abi3.so.
struct PluginFile {
  fs::path path;
  std::string backend;  // "megatron"
  std::string abi;      // "3"; empty where the name has none
};

std::string file_name(std::string_view backend) {
  return fmt::format("orch-{}.abi{}.so", backend, ORCH_ABI_MAJOR);
}

bool is_ours(const PluginFile& file) { return file.path.filename() == file_name(file.backend); }

// Nothing for a file whose name is not that of a plug-in.
std::optional<PluginFile> plugin_file(const fs::path& path) {
  auto name = path.filename().string();
  if (!name.starts_with("orch-") || !name.ends_with(".so")) return {};
  name = name.substr(5, name.size() - 5 - 3);
  const auto dot = name.rfind(".abi");
  const bool has_abi = dot != name.npos && dot + 4 < name.size() &&
                       name.find_first_not_of("0123456789", dot + 4) == name.npos;
  if (!has_abi) return PluginFile{path, name, ""};
  return PluginFile{path, name.substr(0, dot), name.substr(dot + 4)};
}

std::vector<PluginFile> plugins_in(const fs::path& folder, Errors& errors) {
  std::error_code code;
  const auto entries = entries_of(folder, code);
  if (code) errors.push_back(file_error(folder, "cannot read the plug-in folder", code.value()));
  std::vector<PluginFile> files;
  for (const auto& entry : entries)
    if (auto file = plugin_file(entry)) files.push_back(std::move(*file));
  return files;
}

// dlerror() without the path that it begins with: the error's place already has it.
std::string load_failure(const fs::path& file) {
  const char* reason = dlerror();
  std::string text = reason ? reason : "no reason given";
  const auto prefix = file.string() + ": ";
  if (text.starts_with(prefix)) text.erase(0, prefix.size());
  return text;
}

Result<Backend> load_plugin(const PluginFile& plugin) {
  const auto& file = plugin.path;
  const auto place = file.string();
  // An absolute path: dlopen searches elsewhere for a bare name. Never closed, see orch/backend.h.
  void* library = dlopen(fs::absolute(file).c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library)
    return Error{place, fmt::format("cannot be loaded: {}", load_failure(fs::absolute(file))),
                 kRebuild};
  void* symbol = dlsym(library, ORCH_BACKEND_ENTRY);
  if (!symbol)
    return Error{place,
                 fmt::format("has no function {}: not a backend of orch", ORCH_BACKEND_ENTRY),
                 "name its class in ORCH_BACKEND(...), or take the file out of the folder"};
  const auto entry = reinterpret_cast<orch_backend_entry_fn>(symbol);
  auto backend = Backend::from(entry(ORCH_ABI_MAJOR, ORCH_ABI_MINOR), file);
  if (backend && backend->name() != plugin.backend)
    return Error{place, fmt::format("calls itself '{}'", backend->name()),
                 fmt::format("name the file {}", file_name(backend->name()))};
  return backend;
}

void check_strategy_names(const std::vector<Backend>& loaded, const Backend& next, Errors& errors) {
  for (const auto& strategy : next.strategies())
    for (const auto& other : loaded)
      for (const auto& taken : other.strategies())
        if (taken->name == strategy->name)
          errors.push_back({next.file().string(),
                            fmt::format("offers the strategy '{}', as {} does already",
                                        strategy->name, other.file().string()),
                            "take one of the two files out of the folder"});
}

bool has_backend(const std::vector<PluginFile>& files, const std::string& backend) {
  return std::any_of(files.begin(), files.end(),
                     [&](const auto& file) { return file.backend == backend; });
}

// A plug-in for another ABI is ignored if the backend also exists for this one.
Error other_abi(const PluginFile& file) {
  return {file.path.string(),
          file.abi.empty() ? "names no ABI: it is not a plug-in, or one for an older orch"
                           : fmt::format("is for ABI {}", file.abi),
          fmt::format("this orch loads {}: {}", file_name(file.backend), kRebuild)};
}

}  // namespace

Result<Backends> Backends::load(const std::vector<fs::path>& folders) {
  Backends result;
  Errors errors;
  std::vector<PluginFile> files, others;
  for (const auto& folder : folders)
    for (auto& file : plugins_in(folder, errors))
      if (!is_ours(file))
        others.push_back(std::move(file));
      else if (!has_backend(files, file.backend))
        files.push_back(std::move(file));
  for (const auto& file : others)
    if (!has_backend(files, file.backend)) errors.push_back(other_abi(file));
  for (const auto& file : files) {
    auto backend = load_plugin(file);
    if (!errors.add(backend)) continue;
    check_strategy_names(result.backends_, *backend, errors);
    result.backends_.push_back(std::move(*backend));
  }
  if (!errors.empty()) return errors;
  if (!result.backends_.empty()) return result;
  std::string searched;
  for (const auto& folder : folders) searched += (searched.empty() ? "" : ", ") + folder.string();
  return Error{"backends",
               fmt::format("no {} in: {}", file_name("*"), searched.empty() ? "-" : searched),
               "build the backends, or name the folder that holds them"};
}

std::vector<plan::StrategyPtr> Backends::strategies() const {
  std::vector<plan::StrategyPtr> all;
  for (const auto& backend : backends_)
    all.insert(all.end(), backend.strategies().begin(), backend.strategies().end());
  return all;
}

const Backend& Backends::of(const plan::Strategy& strategy) const {
  for (const auto& backend : backends_)
    if (backend.name() == strategy.backend) return backend;
  ORCH_CHECK(false, "a strategy comes from a loaded backend");
  return backends_.front();
}

}  // namespace orch::backend
