#pragma once

#include <map>
#include <string>
#include <vector>

#include "core/run/render/framework.h"
#include "core/run/render/template.h"

namespace orch::render {

// The template for a cluster: <folder>/<cluster>.sbatch if there is one, else that of the cluster
// it is like, else default.sbatch.
fs::path template_for(const fs::path& folder, const std::string& cluster,
                      const std::string& like = {});

// The scripts of a run (job.sbatch, job-2.sbatch, ...), one for each of plan::phases(run), in
// order. Each but the first is to be submitted with --dependency=afterok on the one before. Words
// that would not survive an #SBATCH line, and variables that no shell can export, are errors, all
// at once.
Result<std::vector<File>> render_job(Template& source, const plan::Run& run,
                                     const Context& context);

// What a run that a framework trains has in its folder besides job scripts: `start`, which a job
// calls in the trainer's place, launch.json, which says how for programs and lists what could not
// be made equal, and the framework's own files. start_template is templates/frameworks/start.bash.
Result<std::vector<File>> launch_files(Template& start_template, const Launch& launch,
                                       const plan::Run& run, Context context);

// Renders runs of any cluster, and compiles each template once.
class Renderer {
 public:
  explicit Renderer(fs::path templates) : templates_(std::move(templates)) {}

  Result<std::vector<File>> render(const plan::Run& run, const Context& context);

 private:
  fs::path templates_;
  std::map<std::string, Template> compiled_;  // by cluster
};

}  // namespace orch::render
