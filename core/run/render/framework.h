#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/base/files.h"
#include "core/base/result.h"
#include "core/plan/script/job_script.h"
#include "core/run/render/launch_reading.h"
#include "core/run/render/template.h"

namespace orch::render {

// An argument or a variable's value; with `expand`, its $NAMES are expanded where the program is
// started.
struct Word {
  std::string text;
  bool expands = false;

  std::string shell() const;  // quoted as needed
};

// How to start a framework for a run: the result of its template.
struct Launch {
  std::vector<Word> program;  // python3 -u; with one launcher per node, the launcher that starts it
  std::vector<Word> argv;     // the script and its arguments, including the experiment's
  std::map<std::string, Word> environment;   // defaults for unset variables
  std::map<std::string, std::string> needs;  // variables that must be set, with their meanings
  std::vector<DraftContent> files;
  std::vector<Word> version;   // a command that prints the installed version; empty: there is none
  std::string stop_signal;     // TERM or USR1, sent on USR1; empty: cannot be stopped by a signal
  std::string stop_file;       // or a file to create in the attempt's folder
  std::vector<Error> refused;  // what the framework cannot do, each with a reason
  std::vector<Error> unequal;  // differences from our own trainers
  std::string package;         // of Python, whose version counts; empty: the template names none
  std::string tested;          // its version that the template was tested with
};

// The templates of frameworks, templates/frameworks/<name>.lua: each turns a run into a Launch. The
// language is that of experiments, closed and deterministic; templates/frameworks/README.md lists
// the names that a template can use and what it returns.
class Frameworks {
 public:
  // Folders with templates, the first has priority; common.lua is in the last.
  explicit Frameworks(std::vector<fs::path> folders);
  Frameworks(Frameworks&&) noexcept;
  Frameworks& operator=(Frameworks&&) noexcept;
  ~Frameworks();

  std::vector<std::string> names() const;  // sorted

  struct About {
    std::string doc;
    std::vector<std::string> versions;  // oldest first; empty: versions do not matter
    std::string package, tested;        // as in Launch
    fs::path file;
  };
  Result<About> about(const std::string& name);

  // Checks that a framework "name@version" exists; place is for messages.
  Status check(const std::string& framework, const std::string& place);

  // Renders the run. Errors are those of the template itself; settings that it refuses are in the
  // result, and so are settings of the run that it never read.
  Result<Launch> launch(const plan::Run& run);

  // The programs whose command lines some template reads back: "pretrain_gpt.py". A template that
  // cannot be loaded has none.
  std::vector<std::string> programs();
  // The reverse of launch: what the first template that knows the command line reads in it.
  // `asked`: the framework and version where the flags do not tell; errors are those of the
  // template.
  Result<LaunchReading> read(const plan::JobScript& job, const OpenNamedFile& open,
                             const std::string& asked = "");

 private:
  class Engine;  // keeps sol2 out of this header
  Result<Engine*> engine(const std::string& name);

  std::vector<fs::path> folders_;
  std::map<std::string, std::unique_ptr<Engine>> engines_;
};

}  // namespace orch::render
