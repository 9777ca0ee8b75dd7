#pragma once

#include <string>
#include <vector>

#include "core/base/files.h"
#include "core/base/result.h"
#include "core/plan/lua/sandbox.h"

namespace orch::experiment {

// include "common.lua": runs another file of the experiment's folder, or of a folder below it, and
// gives what it returns. The name is taken from the folder of the file that says it. What leads out
// of the experiment's folder is refused, and so is a circle.
class Includes {
 public:
  explicit Includes(lua::Sandbox& sandbox) : sandbox_(sandbox) {}

  // Defines include; before begin() it refuses.
  void define();

  // Around the reading of one experiment's file.
  void begin(const std::string& file);
  void end() { open_.clear(); }

  const std::vector<std::string>& files() const { return files_; }  // since begin(), each once
  // What stopped an included file, at its place there; empty: nothing did.
  const Errors& errors() const { return errors_; }

 private:
  sol::object include(const sol::object& name);
  Result<fs::path> find(const std::string& name) const;

  lua::Sandbox& sandbox_;
  fs::path root_;               // the experiment's folder, without links
  std::vector<fs::path> open_;  // the files that are being read, as they are named
  std::vector<std::string> files_;
  Errors errors_;
};

}  // namespace orch::experiment
