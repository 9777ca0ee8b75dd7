#pragma once

#include "core/run/render/job.h"
#include "tests/place.h"
#include "tests/test.h"

template <>
struct Catch::StringMaker<orch::Error> {
  static std::string convert(const orch::Error& error) { return error.text(); }
};

namespace orch::render {

// Two nodes of four GPUs, tp 2, pp 2, dp 2, with every SLURM option.
plan::Run two_nodes();
// The same on eight nodes, where the batch grows from 8 to 32 on fewer nodes first.
plan::Run ramp_up();
// One node with only the required values.
plan::Run bare();

Context context();

// The scripts of a run with the shipped template.
std::vector<DraftContent> scripts(const plan::Run& run, const Context& where = context());
// The text of a template for two_nodes(), or its only error.
std::string rendered(const std::string& text);
Error render_error(const std::string& text);

struct Finished {
  int exit_code = 0;
  std::string output;  // stdout and stderr
};
Finished bash(const std::string& script);

// A new folder, removed with its content.
class TemporaryFolder {
 public:
  explicit TemporaryFolder(const std::string& name = "run");
  const fs::path& path() const { return path_; }

 private:
  TestFolder place_;
  fs::path path_;
};

void write(const fs::path& path, const std::string& text, bool executable = false);
std::string read(const fs::path& path);
bool contains(const std::string& text, const std::string& part);

// Strings that try to escape from shell quoting.
const std::vector<std::string>& hostile_strings();

}  // namespace orch::render
