#include "core/run/launch/slurm/array_script.h"

#include "core/base/sha256.h"
#include "core/run/launch/process_shell.h"
#include "tests/place.h"
#include "tests/test.h"

namespace {

namespace fs = orch::fs;
using namespace orch::launch;

constexpr auto kScript =
    "#!/bin/bash\n"
    "#SBATCH --job-name=gpt-ddp-12345678\n"
    "#SBATCH --comment=gpt-ddp-12345678\n"
    "#SBATCH --nodes=2\n"
    "#SBATCH --gres=gpu:8\n"
    "\n"
    "#SBATCH --output=slurm-%j.log\n"
    "#SBATCH --open-mode=append\n"
    "#SBATCH -J other --mem=4G\n"
    "# a comment\n"
    "set -e\n"
    "#SBATCH --time=1\n";

}  // namespace

TEST_CASE("a header is all that runs can share", "[launch]") {
  CHECK(header_of(kScript) ==
        "#SBATCH --nodes=2\n#SBATCH --gres=gpu:8\n#SBATCH --open-mode=append\n"
        "#SBATCH -J other --mem=4G\n");
  CHECK(header_of("").empty());
  CHECK(header_of("#!/bin/bash\necho\n").empty());
}

TEST_CASE("each task becomes the script of its run, whatever its folder is called", "[launch]") {
  const TestFolder place;
  const std::vector<std::string> names{
      "plain",           "with blank", "new\nline\n#SBATCH --bogus=1",
      "dos\r\nline",     "quote'\"",   "$(exit 3)",
      "back\\slash`id`", "-dash*?[a]", "caf\xc3\xa9\x01",
      "runs[0])"};
  std::vector<fs::path> folders;
  for (const auto& each : names) {
    folders.push_back(place.root() / each);
    fs::create_directory(folders.back());
    REQUIRE(orch::write_file_atomically(folders.back() / "job.sbatch", "printf '%s' \"$0\"\n"));
  }
  const auto script = array_script("#SBATCH --nodes=2\n", folders);
  CHECK(script.starts_with("#!/bin/bash\n#SBATCH --nodes=2\n"));
  CHECK(header_of(script) == "#SBATCH --nodes=2\n");
  CHECK(script.find('\r') == std::string::npos);

  ProcessShell shell;
  for (std::size_t i = 0; i < names.size(); ++i) {
    orch::Command command;
    command.argv = {"bash", "-c", "SLURM_ARRAY_TASK_ID=$0 exec bash -s", std::to_string(i)};
    command.input = script;
    const auto output = shell.run(command);
    REQUIRE(output);
    CHECK(output->err.empty());
    CHECK(output->out == (folders[i] / "job.sbatch").string());
  }
}

TEST_CASE("a task whose script was changed since it was submitted does not run it", "[launch]") {
  const TestFolder place;
  const auto folder = place.root() / "it's a run";
  place.file(folder / "job.sbatch", "echo trains\n");
  const auto script = array_script("", {folder});
  const auto run = [&](const std::string& sum, const std::string& before = "") {
    place.file("submissions/0001/submission.json",
               "{\"script_sums\": [\"" + sum + "\"], \"start_sums\": [\"\"]}");
    ProcessShell shell;
    orch::Command command;
    command.argv = {"bash", "-c",
                    before + "SLURM_ARRAY_TASK_ID=0 ORCH_SUBMISSION=0001 exec bash -s"};
    command.input = script;
    return *shell.run(command);
  };
  const auto same = run(orch::sha256("echo trains\n"));
  CHECK(same.out == "trains\n");
  const auto other = run(orch::sha256("echo something else\n"));
  CHECK(other.code == 1);
  CHECK(other.out.empty());
  CHECK(other.err.find("job.sbatch changed since it was submitted") != std::string::npos);
  // A node without sha256sum does not run it either.
  const auto unknown =
      run(orch::sha256("echo trains\n"), "sha256sum() { return 127; }; export -f sha256sum; ");
  CHECK(unknown.code == 1);
  CHECK(unknown.out.empty());
  CHECK(unknown.err.find("sha256sum of job.sbatch failed") != std::string::npos);
}
