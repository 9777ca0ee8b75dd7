#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <system_error>

#include "core/price/backend/backend.h"

namespace orch::backend {
namespace {

bool is_plugin(const fs::path& file) {
  const auto name = file.filename().string();
  return name.starts_with("orch-") && name.ends_with(".so");
}

// "megatron" of ".../orch-megatron.so".
std::string backend_name(const fs::path& file) { return file.stem().string().substr(5); }

std::vector<fs::path> plugins_in(const fs::path& folder, Errors& errors) {
  std::error_code code;
  auto files = entries_of(folder, code);
  if (code) errors.push_back(file_error(folder, "cannot read the plug-in folder", code.value()));
  std::erase_if(files, [](const fs::path& file) { return !is_plugin(file); });
  return files;
}

// dlerror() without the path that it starts with: the place says it already.
std::string load_failure(const fs::path& file) {
  const char* reason = dlerror();
  std::string text = reason ? reason : "no reason given";
  const auto prefix = file.string() + ": ";
  if (text.starts_with(prefix)) text.erase(0, prefix.size());
  return text;
}

Result<Backend> load_plugin(const fs::path& file) {
  const auto place = file.string();
  // An absolute path: dlopen looks for a bare name elsewhere. Never closed, see abi.h.
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
  if (backend && backend->name() != backend_name(file))
    return Error{place, fmt::format("calls itself '{}'", backend->name()),
                 fmt::format("name the file orch-{}.so", backend->name())};
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

bool holds_name(const std::vector<fs::path>& files, const fs::path& file) {
  return std::any_of(files.begin(), files.end(),
                     [&](const auto& other) { return other.filename() == file.filename(); });
}

}  // namespace

Result<Backends> Backends::load(const std::vector<fs::path>& folders) {
  Backends result;
  Errors errors;
  std::vector<fs::path> files;
  for (const auto& folder : folders)
    for (const auto& file : plugins_in(folder, errors))
      if (!holds_name(files, file)) files.push_back(file);
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
  return Error{"backends", fmt::format("no orch-*.so in: {}", searched.empty() ? "-" : searched),
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
