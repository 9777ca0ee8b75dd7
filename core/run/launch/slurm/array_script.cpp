#include "core/run/launch/slurm/array_script.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/base/text.h"

namespace orch::launch {
namespace {

constexpr std::string_view kMagic = "#SBATCH";

// A line with further options is kept: options of sbatch's command line override its run-specific
// ones.
bool is_the_runs_own(std::string_view line) {
  const auto option = trim(line.substr(kMagic.size()));
  for (const std::string_view name : {"--job-name", "--comment", "--output", "-J", "-o"})
    if (option.starts_with(name)) return option.find(" -") == std::string_view::npos;
  return false;
}

}  // namespace

std::string quote_line(const std::string& text) {
  const auto is_control = [](unsigned char c) { return c < 0x20 || c == 0x7f; };
  if (std::ranges::none_of(text, is_control)) return shell_quote(text);
  std::string word = "$'";
  for (const char c : text) {
    if (is_control(static_cast<unsigned char>(c)))
      word += fmt::format("\\{:03o}", static_cast<unsigned char>(c));
    else if (c == '\'' || c == '\\')
      word += {'\\', c};
    else
      word += c;
  }
  return word + "'";
}

std::string header_of(std::string_view script) {
  std::string header;
  for (const auto& line : split(script, '\n')) {
    if (!trim(line).empty() && line[0] != '#') break;  // sbatch stops there, too
    if (line.starts_with(kMagic) && !is_the_runs_own(line)) header += line + "\n";
  }
  return header;
}

std::string array_script(std::string_view header, const std::vector<fs::path>& run_folders) {
  std::string script = "#!/bin/bash\n";
  script += header;
  script += "#\n# Independent runs with the same header as one array; written by orch.\nruns=(\n";
  for (const auto& folder : run_folders) script += "  " + quote_line(folder.string()) + "\n";
  // The array may wait for days before it begins.
  script += R"()
folder=${runs[SLURM_ARRAY_TASK_ID]}
submission=${folder%/*}/submissions/${ORCH_SUBMISSION:-}/submission.json
if grep -qsF '"script_sums"' "$submission"; then
  if ! sum=$(sha256sum <"$folder/job.sbatch"); then
    printf 'orch: %s: sha256sum of job.sbatch failed\n' "$folder" >&2
    exit 1
  fi
  if ! grep -qF "\"${sum%% *}\"" "$submission"; then
    printf 'orch: %s: job.sbatch changed since it was submitted\n' "$folder" >&2
    exit 1
  fi
fi
exec bash -- "$folder/job.sbatch"
)";
  return script;
}

bool can_log_below(const fs::path& folder) {
  return folder.string().find_first_of("%\\") == std::string::npos;
}

}  // namespace orch::launch
