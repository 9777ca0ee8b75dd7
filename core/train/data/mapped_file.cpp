#include "core/train/data/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <cerrno>

#include "core/base/descriptor.h"
#include "core/base/text.h"

namespace orch::data {

Result<MappedFile> MappedFile::open(const fs::path& path) {
  const Descriptor opened(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat facts {};
  if (!opened.is_open() || ::fstat(opened.get(), &facts) != 0)
    return file_error(path, "cannot open", errno);
  if (!S_ISREG(facts.st_mode))
    return Error{printable(path.string()), "is not a file", "check the path"};
  MappedFile file;
  if (facts.st_size == 0) return file;
  const auto size = static_cast<std::size_t>(facts.st_size);
  void* data = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, opened.get(), 0);
  if (data == MAP_FAILED) return file_error(path, "cannot map into memory", errno);
  file.data_ = {data, Unmap{size}};
  return file;
}

void Unmap::operator()(void* data) const { ::munmap(data, size); }

void MappedFile::expect_sequential() const {
  if (data_) ::madvise(data_.get(), size(), MADV_SEQUENTIAL);
}

}  // namespace orch::data
