#include "core/base/plain_file.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <utility>

namespace orch {
namespace {

constexpr std::int64_t kBlock = 1 << 20;

}  // namespace

// Non-blocking: opening a pipe would block until it has a writer.
PlainFile::PlainFile(const fs::path& path)
    : file_(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {
  if (!file_.is_open()) return;
  struct stat about = {};
  if (::fstat(file_.get(), &about) != 0 || !S_ISREG(about.st_mode)) {
    file_.close();
    return;
  }
  size_ = about.st_size;
  modified_ =
      static_cast<double>(about.st_mtim.tv_sec) + static_cast<double>(about.st_mtim.tv_nsec) * 1e-9;
}

std::string PlainFile::read(std::int64_t from, std::int64_t bytes) const {
  std::string text(static_cast<std::size_t>(bytes), '\0');
  const auto got = read_at(file_.get(), static_cast<std::uint64_t>(from), text.data(), text.size());
  text.resize(got < 0 ? 0 : static_cast<std::size_t>(got));
  return text;
}

void PlainFile::each_line(std::int64_t from,
                          const std::function<bool(std::string_view)>& visit) const {
  std::string rest;
  bool cut = from > 0;  // the first line
  while (from < size_) {
    const auto part = read(from, std::min(kBlock, size_ - from));
    if (part.empty()) break;
    from += static_cast<std::int64_t>(part.size());
    rest += part;
    std::size_t begin = 0;
    for (auto end = rest.find('\n'); end != std::string::npos; end = rest.find('\n', begin)) {
      const auto line = std::string_view(rest).substr(begin, end - begin);
      if (!std::exchange(cut, false) && !visit(line)) return;
      begin = end + 1;
    }
    rest.erase(0, begin);
    if (rest.size() > kLongestLine) rest.clear();
  }
  if (!rest.empty() && !cut) visit(rest);
}

}  // namespace orch
