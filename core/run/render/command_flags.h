#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/base/flat_settings.h"

namespace orch::render {

// The flags of a command line, and the settings of the files that it names, for a template that
// reads them. A flag is --name, '-' and '_' are the same in it, and of two the last one counts.
// Every name that was asked for is known: what was given and never asked for was not understood.
class CommandFlags {
 public:
  // "--name value value", "--name=value". `prefix` comes before the names: "launcher:".
  void add_words(const std::vector<std::string>& words, const std::string& prefix = "");
  // Settings of a file, as flags "<prefix>name" that a flag of the command line overrides.
  void add_settings(const FlatSettings& settings, const std::string& prefix);

  // The values of a flag: nothing if it was not given, empty if it stands alone.
  std::optional<std::vector<std::string>> values(const std::string& name);
  bool has(const std::string& name) const;  // without asking for it
  void mark(const std::string& name);       // known, and without an effect on the estimate

  std::size_t marked() const { return marked_; }
  // What was not understood, as it was written, each with the nearest known name; without those of
  // launchers.
  std::vector<std::string> ignored() const;

 private:
  struct GivenFlag {
    std::string written;
    std::vector<std::string> values;
    bool asked = false;
  };

  std::map<std::string, GivenFlag> flags_;
  std::set<std::string> known_;
  std::vector<std::string> stray_;  // words before the first flag
  std::size_t marked_ = 0;
};

}  // namespace orch::render
