#include "core/record/ingest/copies.h"

#include <sys/stat.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <map>

namespace orch::ingest {
namespace {

bool are_equal(const std::string& a, const std::string& b) {
  std::ifstream one(a, std::ios::binary), two(b, std::ios::binary);
  using Bytes = std::istreambuf_iterator<char>;
  return one && two && std::equal(Bytes(one), Bytes(), Bytes(two), Bytes());
}

}  // namespace

std::vector<std::size_t> copies_of(const std::vector<std::string>& files) {
  std::vector<std::size_t> first(files.size());
  std::map<off_t, std::vector<std::size_t>> sizes;
  for (std::size_t i = 0; i < files.size(); ++i) {
    first[i] = i;
    struct stat status {};
    const bool plain = ::stat(files[i].c_str(), &status) == 0 && S_ISREG(status.st_mode);
    if (!plain || status.st_size == 0) continue;
    auto& alike = sizes[status.st_size];
    for (const auto other : alike)
      if (are_equal(files[other], files[i])) {
        first[i] = other;
        break;
      }
    if (first[i] == i) alike.push_back(i);
  }
  return first;
}

}  // namespace orch::ingest
