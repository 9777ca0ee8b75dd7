#include "core/plan/container.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "core/base/files.h"
#include "core/base/text.h"

namespace orch::plan {
namespace {

bool is_path(std::string_view text) { return text.starts_with('/'); }

// Characters that a runtime, or the shell of the job, would take for something else.
bool is_plain(std::string_view text) {
  return std::ranges::none_of(text, [](char c) {
    return static_cast<unsigned char>(c) < 0x20 || c == 0x7f || c == '$' || c == ',' || c == '`';
  });
}

// "/a:/b" for "/a:/b" and, with both sides, for "/a".
std::string both_sides(const std::string& mount) {
  return mount.find(':') == std::string::npos ? mount + ":" + mount : mount;
}

void check_mount(const Container& container, const std::string& mount, const std::string& place,
                 Errors& errors) {
  const auto parts = split(mount, ':');
  const bool mode = parts.size() == 3 && (parts[2] == "ro" || parts[2] == "rw");
  if (!is_plain(mount) || parts.size() > 3 || (parts.size() == 3 && !mode) || !is_path(parts[0]) ||
      (parts.size() > 1 && !is_path(parts[1])))
    errors.push_back({place, fmt::format("'{}' is not a mount", printable(mount)),
                      "write \"/here:/there\", \"/here:/there:ro\" or \"/here\""});
  else if (mode && parts[2] == "ro" && container.runtime == "charliecloud")
    errors.push_back({place, fmt::format("'{}': ch-run has no read-only mounts", printable(mount)),
                      "leave out :ro, or use another runtime"});
}

bool is_amd(std::string_view gpu) { return gpu.starts_with("mi"); }

std::vector<std::string> gpu_options(const Container& container, std::string_view gpu) {
  if (!container.gpu || gpu == "cpu") return {};
  if (container.runtime == "apptainer") return {is_amd(gpu) ? "--rocm" : "--nv"};
  if (container.runtime != "podman") return {};
  if (is_amd(gpu)) return {"--device=/dev/kfd", "--device=/dev/dri"};
  return {"--device=nvidia.com/gpu=all"};
}

std::vector<std::string> all_mounts(const Container& container, const ContainerFolders& folders) {
  std::vector<std::string> out;
  for (const auto* list : {&container.mounts, &folders.own})
    for (const auto& mount : *list)
      if (const auto both = both_sides(mount); !contains(out, both)) out.push_back(both);
  return out;
}

std::string start_of(const Container& container, const ContainerFolders& folders) {
  return container.workdir.empty() ? folders.start : container.workdir;
}

bool is_on_path(const std::string& program) {
  const char* path = std::getenv("PATH");
  return std::ranges::any_of(split(path ? path : "", ':'), [&](const std::string& folder) {
    return ::access((fs::path(folder) / program).c_str(), X_OK) == 0;
  });
}

}  // namespace

std::string container_program(const Container& container) {
  if (container.runtime == "pyxis") return "srun";
  return container.runtime == "charliecloud" ? "ch-run" : container.runtime;
}

Errors check_container(const Container& container, const std::string& place) {
  Errors errors;
  if (container.image.empty())
    errors.push_back({place + ".image", "missing", "write image = \"/images/torch.sif\""});
  else if (!is_plain(container.image) || container.image.front() == '-')
    errors.push_back({place + ".image",
                      fmt::format("'{}' is not an image", printable(container.image)),
                      "write an absolute path, or an address such as docker://ubuntu"});
  else if (container.runtime == "charliecloud" && !is_path(container.image))
    errors.push_back({place + ".image",
                      fmt::format("'{}' is not an absolute path", printable(container.image)),
                      "name the folder or SquashFS file of the image"});
  if (!contains(kContainerRuntimes, container.runtime)) {
    const std::vector<std::string> known(std::begin(kContainerRuntimes),
                                         std::end(kContainerRuntimes));
    errors.push_back({place + ".runtime",
                      container.runtime.empty()
                          ? "missing"
                          : fmt::format("no runtime '{}'", printable(container.runtime)),
                      suggestion(container.runtime, known)});
  }
  for (const auto& mount : container.mounts)
    check_mount(container, mount, place + ".mounts", errors);
  if (!container.workdir.empty() && (!is_path(container.workdir) || !is_plain(container.workdir)))
    errors.push_back({place + ".workdir",
                      fmt::format("'{}' is not an absolute path", printable(container.workdir)),
                      "name a folder of the container"});
  return errors;
}

std::vector<std::string> srun_options(const Container& container, const ContainerFolders& folders) {
  if (container.runtime != "pyxis") return {};
  return {"--container-image=" + container.image,
          "--container-mounts=" + join(all_mounts(container, folders), ","),
          "--container-workdir=" + start_of(container, folders)};
}

std::vector<std::string> container_words(const Container& container,
                                         const ContainerFolders& folders, std::string_view gpu) {
  const auto& runtime = container.runtime;
  std::vector<std::string> words;
  std::string mount, start;
  if (runtime == "apptainer") {
    words = {"apptainer", "exec"}, mount = "--bind=", start = "--pwd=";
  } else if (runtime == "charliecloud") {
    words = {"ch-run"}, mount = "--bind=", start = "--cd=";
  } else if (runtime == "podman") {
    words = {"podman", "run", "--rm", "--network=host", "--ipc=host", "--env-host"};
    mount = "--volume=", start = "--workdir=";
  } else {
    return {};
  }
  for (auto& option : gpu_options(container, gpu)) words.push_back(std::move(option));
  for (const auto& each : all_mounts(container, folders)) words.push_back(mount + each);
  words.push_back(start + start_of(container, folders));
  words.push_back(container.image);
  if (runtime == "charliecloud") words.emplace_back("--");
  return words;
}

Errors find_container(const Container& container, bool has_setup, const std::string& place) {
  Errors errors;
  const auto program = container_program(container);
  if (!has_setup && !is_on_path(program))
    errors.push_back({place,
                      fmt::format("no program '{}' for runtime {}", program, container.runtime),
                      "install it, load it in setup, or name another runtime"});
  if (is_path(container.image) && !is_there(container.image))
    errors.push_back({place, fmt::format("no such image: {}", printable(container.image)),
                      "name one that the nodes can read"});
  return errors;
}

}  // namespace orch::plan
