#pragma once

#include <cstdint>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "core/base/files.h"
#include "core/train/data/dataset.h"
#include "core/train/data/indexed_writer.h"
#include "tests/place.h"

namespace orch::data {

struct DataFolder : TestFolder {
  std::string prefix() const { return (root() / "text").string(); }
};

using Documents = std::vector<std::vector<std::int32_t>>;

inline Status write(const std::string& prefix, const Documents& documents, TokenDtype dtype,
                    bool replace = false) {
  auto writer = IndexedWriter::create(prefix, dtype, replace);
  if (!writer) return writer.error();
  for (const auto& document : documents) {
    if (auto status = writer->add(document); !status) return status;
    if (auto status = writer->end_document(); !status) return status;
  }
  return writer->finish();
}

inline std::vector<std::int32_t> sample(const Dataset& data, std::int64_t i, std::size_t size) {
  std::vector<std::int32_t> out(size);
  data.read(i, out);
  return out;
}

inline std::string bytes_in(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream out;
  out << file.rdbuf();
  return out.str();
}

// A new file each time: overwriting an old one waits for the disk on ext4.
inline void put_bytes(const std::string& path, const std::string& bytes) {
  fs::remove(path);
  std::ofstream(path, std::ios::binary) << bytes;
}

}  // namespace orch::data
