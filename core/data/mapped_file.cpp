#include "core/data/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "core/base/text.h"

namespace orch::data {

Result<MappedFile> MappedFile::open(const fs::path& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return file_error(path, "cannot open", errno);
  struct stat facts {};
  const bool known = ::fstat(fd, &facts) == 0;
  MappedFile file;
  void* data = nullptr;
  int code = errno;
  if (known && S_ISREG(facts.st_mode) && facts.st_size > 0) {
    file.size_ = static_cast<std::size_t>(facts.st_size);
    data = ::mmap(nullptr, file.size_, PROT_READ, MAP_SHARED, fd, 0);
    code = errno;
  }
  ::close(fd);
  if (known && !S_ISREG(facts.st_mode))
    return Error{printable(path.string()), "is not a file", "check the path"};
  if (!known || data == MAP_FAILED) return file_error(path, "cannot map into memory", code);
  file.data_ = data;
  return file;
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

MappedFile::~MappedFile() {
  if (data_) ::munmap(data_, size_);
}

void MappedFile::expect_sequential() const {
  if (data_) ::madvise(data_, size_, MADV_SEQUENTIAL);
}

}  // namespace orch::data
