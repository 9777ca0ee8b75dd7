#include "core/record/ingest/copies.h"

#include <sys/stat.h>

#include <fstream>
#include <map>

namespace orch::ingest {
namespace {

bool are_equal(const std::string& a, const std::string& b) {
  constexpr std::size_t kBlock = 64 << 10;
  std::ifstream one(a, std::ios::binary), two(b, std::ios::binary);
  std::string from_one(kBlock, '\0'), from_two(kBlock, '\0');
  while (one && two) {
    one.read(from_one.data(), kBlock);
    two.read(from_two.data(), kBlock);
    if (one.bad() || two.bad() || one.gcount() != two.gcount()) return false;
    const auto size = static_cast<std::size_t>(one.gcount());
    if (from_one.compare(0, size, from_two, 0, size) != 0) return false;
    if (size < kBlock) return one.eof() && two.eof();
  }
  return false;
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
