#pragma once

#include <stdlib.h>

#include <fstream>
#include <string>

#include "core/base/files.h"

// A folder of its own for each test.
class Place {
 public:
  Place() {
    char name[] = "/tmp/orch-collect-XXXXXX";
    root_ = ::mkdtemp(name);
  }
  ~Place() {
    std::error_code ignored;
    orch::fs::remove_all(root_, ignored);
  }
  Place(const Place&) = delete;
  Place& operator=(const Place&) = delete;
  const orch::fs::path& root() const { return root_; }

  orch::fs::path file(const std::string& name, const std::string& text) const {
    std::ofstream(root_ / name, std::ios::binary) << text;
    return root_ / name;
  }

 private:
  orch::fs::path root_;
};
