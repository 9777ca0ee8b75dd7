#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/base/files.h"
#include "core/base/result.h"
#include "core/run/render/template.h"

namespace orch::render {

// A word of a command line or a value of a variable; where it expands, its $NAMES are filled in
// where the program is started.
struct Word {
  std::string text;
  bool expands = false;

  std::string shell() const;  // quoted as it must be
};

// How a framework is started for a run: what its template made of it.
struct Launch {
  std::vector<Word>
      program;  // python3 -u; a launcher of its own starts it where one per node is asked for
  std::vector<Word> argv;  // the script and its arguments, with those that the experiment adds
  std::map<std::string, Word> environment;   // that nobody set
  std::map<std::string, std::string> needs;  // variables that must be set, and what they are
  std::vector<File> files;
  std::vector<Word> version;   // a command that says which version is there; empty: none does
  std::string stop_signal;     // what USR1 becomes: TERM, USR1; empty: it cannot be told
  std::string stop_file;       // or the file that is made in the attempt's folder
  std::vector<Error> refused;  // what the framework cannot do, with every reason
  std::vector<Error> unequal;  // what it does in another way than our trainers
};

// The templates of frameworks, templates/frameworks/<name>.lua: each turns a run into a Launch. The
// language is that of experiments, closed and deterministic; templates/frameworks/README.md lists
// what a template can name and what it returns.
class Frameworks {
 public:
  // Folders with templates, the first counts most; common.lua is in the last.
  explicit Frameworks(std::vector<fs::path> folders);
  Frameworks(Frameworks&&) noexcept;
  Frameworks& operator=(Frameworks&&) noexcept;
  ~Frameworks();

  std::vector<std::string> names() const;  // sorted

  struct About {
    std::string doc;
    std::vector<std::string> versions;  // oldest first; empty: it needs none
    fs::path file;
  };
  Result<About> about(const std::string& name);

  // Whether there is a framework "name@version"; place is for messages.
  Status check(const std::string& framework, const std::string& place);

  // What becomes of the run. Errors are the template's own; what it refuses is in the result, and
  // so is a setting of the run that the template did not even look at.
  Result<Launch> launch(const plan::Run& run);

 private:
  class Engine;  // keeps sol2 out of this header
  Result<Engine*> engine(const std::string& name);

  std::vector<fs::path> folders_;
  std::map<std::string, std::unique_ptr<Engine>> engines_;
};

}  // namespace orch::render
