#pragma once

#include <stdlib.h>

#include <fstream>
#include <string>

#include "core/base/files.h"

// A folder of its own for each test.
class Place {
 public:
  Place() {
    char name[] = "/tmp/orch-test-XXXXXX";
    root_ = ::mkdtemp(name);
  }
  ~Place() {
    std::error_code ignored;
    orch::fs::remove_all(root_, ignored);
  }
  Place(const Place&) = delete;
  Place& operator=(const Place&) = delete;
  const orch::fs::path& root() const { return root_; }

  // Writes a file, with the folders above it.
  orch::fs::path file(const orch::fs::path& name, const std::string& text) const {
    orch::fs::create_directories((root_ / name).parent_path());
    std::ofstream(root_ / name, std::ios::binary) << text;
    return root_ / name;
  }

  orch::fs::path draft(const std::string& owner) const {
    return file(orch::fs::path("x") / (".tmp-" + owner + "@a-1") / "run.json", "half")
        .parent_path();
  }

 private:
  orch::fs::path root_;
};
