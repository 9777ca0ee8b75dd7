#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"

namespace orch::plan {

// The container in which a run's program starts. Without an image there is none.
struct Container {
  std::string image;                // an absolute path, or an address that the runtime knows
  std::string runtime;              // one of kContainerRuntimes
  std::vector<std::string> mounts;  // "/here:/there", "/here:/there:ro", or "/here" for both
  std::string workdir;              // in the container; empty: the run's folder
  bool gpu = true;                  // the container sees the GPUs

  bool given() const { return !image.empty(); }
  bool operator==(const Container&) const = default;
};

// pyxis is a plug-in of SLURM's srun; the others are programs.
inline constexpr std::string_view kContainerRuntimes[] = {"pyxis", "apptainer", "charliecloud",
                                                          "podman"};

// The program that starts it: "apptainer", "ch-run", "podman"; of pyxis "srun".
std::string container_program(const Container& container);

// Every mistake in what was asked for.
Errors check_container(const Container& container, const std::string& place);

// The folders of the run, which the container sees at their own paths, and where it begins.
struct ContainerFolders {
  std::vector<std::string> own;
  std::string start;
};

// Options of srun, for pyxis; empty for other runtimes.
std::vector<std::string> srun_options(const Container& container, const ContainerFolders& folders);

// The words before the program that runs in the container; empty for pyxis. `gpu`: the name of the
// GPU, of which AMD's have other options than NVIDIA's.
std::vector<std::string> container_words(const Container& container,
                                         const ContainerFolders& folders, std::string_view gpu);

// What is missing on this machine: the program, and an image that is a path. A program that the
// job's setup may bring is not looked for.
Errors find_container(const Container& container, bool has_setup, const std::string& place);

}  // namespace orch::plan
