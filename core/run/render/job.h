#pragma once

#include <map>
#include <string>
#include <vector>

#include "core/run/render/framework.h"
#include "core/run/render/template.h"

namespace orch::render {

// The template for a cluster: <folder>/<cluster>.sbatch if it exists, else that of the cluster it
// is like, else default.sbatch.
fs::path template_for(const fs::path& folder, const std::string& cluster,
                      const std::string& like = {});

// The scripts of a run (job.sbatch, job-2.sbatch, ...), one for each of plan::phases(run), in
// order. Each but the first is to be submitted with --dependency=afterok on the previous one.
// Values that are invalid on an #SBATCH line, and variables that no shell can export, are errors,
// reported at once.
Result<std::vector<DraftContent>> render_job(Template& source, const plan::Run& run,
                                             const Context& context);

// The files of a run that a framework trains, besides job scripts: `start`, which a job calls
// instead of the trainer, launch.json, the same for programs with the list of differences, and the
// framework's own files. start_template is templates/frameworks/start.bash.
Result<std::vector<DraftContent>> launch_files(Template& start_template, const Launch& launch,
                                               const plan::Run& run, Context context);

// Renders runs of any cluster; compiles each template once.
class Renderer {
 public:
  explicit Renderer(fs::path templates) : templates_(std::move(templates)) {}

  Result<std::vector<DraftContent>> render(const plan::Run& run, const Context& context);

 private:
  fs::path templates_;
  std::map<std::string, Template> compiled_;  // by cluster
};

}  // namespace orch::render
