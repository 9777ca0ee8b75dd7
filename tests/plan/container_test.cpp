#include "core/plan/container.h"

#include <stdlib.h>

#include "tests/place.h"
#include "tests/test.h"

using namespace orch;
using Words = std::vector<std::string>;

namespace {

plan::Container container(const std::string& runtime) {
  return {"/images/torch.sif", runtime, {"/data", "/a:/b:ro"}, "", true};
}

const plan::ContainerFolders kFolders{{"/runs/x", "/data"}, "/runs/x"};

}  // namespace

TEST_CASE("each runtime gets its own words for the same container", "[plan][container]") {
  CHECK(plan::srun_options(container("pyxis"), kFolders) ==
        Words{"--container-image=/images/torch.sif",
              "--container-mounts=/data:/data,/a:/b:ro,/runs/x:/runs/x",
              "--container-workdir=/runs/x"});
  CHECK(plan::container_words(container("pyxis"), kFolders, "a100-80g").empty());
  CHECK(plan::container_words(container("apptainer"), kFolders, "a100-80g") ==
        Words{"apptainer", "exec", "--nv", "--bind=/data:/data", "--bind=/a:/b:ro",
              "--bind=/runs/x:/runs/x", "--pwd=/runs/x", "/images/torch.sif"});
  CHECK(plan::container_words(container("apptainer"), kFolders, "mi300x")[2] == "--rocm");
  auto own = container("podman");
  own.workdir = "/work";
  own.gpu = false;
  CHECK(plan::container_words(own, kFolders, "a100-80g") ==
        Words{"podman", "run", "--rm", "--network=host", "--ipc=host", "--env-host",
              "--volume=/data:/data", "--volume=/a:/b:ro", "--volume=/runs/x:/runs/x",
              "--workdir=/work", "/images/torch.sif"});
  auto plain = container("charliecloud");
  plain.mounts = {"/data"};
  CHECK(plan::container_words(plain, kFolders, "a100-80g") ==
        Words{"ch-run", "--bind=/data:/data", "--bind=/runs/x:/runs/x", "--cd=/runs/x",
              "/images/torch.sif", "--"});
  CHECK(plan::srun_options(plain, kFolders).empty());
}

TEST_CASE("a container is looked for before the queue", "[plan][container]") {
  const TestFolder folder;
  ::setenv("PATH", folder.root().c_str(), 1);
  auto missing = container("apptainer");
  missing.image = (folder.root() / "torch.sif").string();
  const auto errors = plan::find_container(missing, false, "container");
  REQUIRE(errors.size() == 2);
  CHECK(errors[0].fact == "no program 'apptainer' for runtime apptainer");
  CHECK(errors[1].fact.starts_with("no such image: "));
  // setup may load it.
  CHECK(plan::find_container(missing, true, "container").size() == 1);
  folder.file("torch.sif", "x");
  const auto program = folder.file("apptainer", "#!/bin/sh\n");
  fs::permissions(program, fs::perms::owner_all);
  CHECK(plan::find_container(missing, false, "container").empty());
  missing.image = "docker://torch";  // only the runtime knows
  CHECK(plan::find_container(missing, false, "container").empty());
}
