#include "core/record/ingest/unpack.h"

#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>

#include "core/base/text.h"

namespace orch::ingest {
namespace {

using namespace std::string_view_literals;

constexpr std::array kPackings{Packing{"\x1f\x8b"sv, "gzip", "gunzip it first, or zcat"},
                               Packing{"\x28\xb5\x2f\xfd"sv, "zstd", "zstdcat"},
                               Packing{"\xfd"
                                       "7zXZ\0"sv,
                                       "xz", "xzcat"},
                               Packing{"BZh"sv, "bzip2", "bzcat"}};

constexpr int kNoProgram = 127;  // exit code of a shell if there is no such program

}  // namespace

Packing packing_of(std::string_view beginning) {
  for (const auto& packing : kPackings) {
    if (!beginning.starts_with(packing.bytes)) continue;
    // "BZh" may also begin a text. A block of bzip2 begins with the digits of pi.
    const bool text = packing.program == "bzip2" &&
                      (beginning.size() < 7 || beginning.substr(4, 3) != "\x31\x41\x59"sv);
    if (!text) return packing;
  }
  return {};
}

Packing packing_of(int file) {
  std::array<char, 8> head{};
  const auto got = ::pread(file, head.data(), head.size(), 0);
  return packing_of(std::string_view(head.data(), got > 0 ? static_cast<std::size_t>(got) : 0));
}

// The program's own messages are discarded, because finish() reports a damaged file.
Unpacker::Unpacker(const Packing& packing, const std::string& file)
    : program_(packing.program),
      pipe_(::popen(fmt::format("exec {} -dc <{} 2>/dev/null", program_, shell_quote(file)).c_str(),
                    "re")) {}

int Unpacker::output() const { return pipe_ ? ::fileno(pipe_.get()) : -1; }

Status Unpacker::finish() {
  const int status = pipe_ ? ::pclose(pipe_.release()) : -1;
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return {};
  if (WIFEXITED(status) && WEXITSTATUS(status) == kNoProgram)
    return Error{"", program_ + " cannot be started here",
                 fmt::format("install {}, or unpack the file first", program_)};
  return Error{"", "damaged or cut", ""};
}

}  // namespace orch::ingest
