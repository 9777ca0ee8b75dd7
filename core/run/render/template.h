#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "core/base/draft.h"
#include "core/base/result.h"
#include "core/plan/run.h"

namespace orch::render {

struct Launch;

// The values that a job script needs besides the run.
struct Context {
  std::string trainers;     // the folder of our own trainers, relative to the run's folder
  std::string version;      // orch's version
  double step_seconds = 0;  // estimated; a job must be told to stop early enough to end a step
  const Launch* launch = nullptr;  // for a framework
};

// One of the jobs of a run.
struct PhaseContext {
  plan::Phase phase;
  std::size_t index = 1;  // from 1
  std::size_t count = 1;
};

// A template, compiled once and rendered many times. {{ expr }} is a Lua expression, quoted for the
// shell; {{! expr }} is not quoted; a line that starts with % is a Lua statement, one with %% a
// line that starts with %. A missing value is an error, never an empty string. The names for
// expressions are listed in templates/slurm/README.md.
class Template {
 public:
  static Result<Template> load(const fs::path& path);
  static Result<Template> parse(std::string_view text, const std::string& file);

  Template(Template&&) noexcept;
  Template& operator=(Template&&) noexcept;
  ~Template();

  Result<std::string> render(const plan::Run& run, const PhaseContext& phase,
                             const Context& context);

 private:
  struct Engine;  // keeps sol2 out of this header
  explicit Template(std::unique_ptr<Engine> engine);
  std::unique_ptr<Engine> engine_;
};

}  // namespace orch::render
