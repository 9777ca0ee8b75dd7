#pragma once

#include <stdlib.h>

#include <fstream>
#include <stdexcept>
#include <string>

#include "core/base/files.h"

// An empty folder, removed after its test.
class TestFolder {
 public:
  TestFolder() {
    std::string pattern = (orch::fs::temp_directory_path() / "orch-test-XXXXXX").string();
    if (!::mkdtemp(pattern.data())) throw std::runtime_error("no temporary folder");
    root_ = pattern;
  }
  ~TestFolder() {
    std::error_code ignored;
    orch::fs::remove_all(root_, ignored);
  }
  TestFolder(const TestFolder&) = delete;
  TestFolder& operator=(const TestFolder&) = delete;
  const orch::fs::path& root() const { return root_; }

  // Writes a file, and creates the folders above it.
  orch::fs::path file(const orch::fs::path& name, const std::string& text) const {
    orch::fs::create_directories((root_ / name).parent_path());
    std::ofstream(root_ / name, std::ios::binary) << text;
    return root_ / name;
  }

 private:
  orch::fs::path root_;
};
