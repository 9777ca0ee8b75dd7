#include "core/record/ingest/unpack.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

namespace orch::ingest {
namespace {

using namespace std::string_view_literals;

struct Magic {
  std::string_view bytes;
  Packing packing;
};

constexpr std::array kMagics{Magic{"\x1f\x8b"sv, {"gzip", "gzip"}},
                             Magic{"\xfd"
                                   "7zXZ\0"sv,
                                   {"xz", "xz"}},
                             Magic{"\x28\xb5\x2f\xfd"sv, {"zstd", "zstd"}},
                             Magic{"BZh"sv, {"bzip2", "bzip2"}}};

}  // namespace

Packing packing_of(int file) {
  std::array<char, 8> head{};
  const auto got = ::pread(file, head.data(), head.size(), 0);
  if (got <= 0) return {};
  const std::string_view begin(head.data(), static_cast<std::size_t>(got));
  for (const auto& magic : kMagics) {
    if (!begin.starts_with(magic.bytes)) continue;
    // "BZh" may be text; a block of bzip2 begins with the digits of pi.
    if (magic.packing.name == "bzip2" &&
        (begin.size() < 7 || begin.substr(4, 3) != "\x31\x41\x59"sv))
      continue;
    return magic.packing;
  }
  return {};
}

Result<Unpacker> Unpacker::start(const Packing& packing, int file) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0)
    return Error{"", fmt::format("no pipe for {}: {}", packing.program, std::strerror(errno)), ""};
  Descriptor output(ends[0]);
  const Descriptor input(ends[1]);
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, file, STDIN_FILENO);
  ::posix_spawn_file_actions_adddup2(&actions, input.get(), STDOUT_FILENO);
  // What it says of a damaged file is said by us, in one line.
  ::posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  std::string program(packing.program), how = "-dc";
  const std::array<char*, 3> words{program.data(), how.data(), nullptr};
  pid_t child = -1;
  const int code =
      ::posix_spawnp(&child, program.c_str(), &actions, nullptr, words.data(), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  if (code != 0)
    return Error{"", fmt::format("{} cannot be started here: {}", program, std::strerror(code)),
                 fmt::format("install {}, or unpack the file first", program)};
  return Unpacker(child, std::move(output));
}

Unpacker::Unpacker(Unpacker&& other) noexcept
    : child_(std::exchange(other.child_, -1)), output_(std::move(other.output_)) {}

bool Unpacker::finish() {
  if (child_ < 0) return true;
  int status = 0;
  while (::waitpid(child_, &status, 0) < 0)
    if (errno != EINTR) break;
  child_ = -1;
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

Unpacker::~Unpacker() {
  output_.close();  // it stops where nobody reads
  finish();
}

}  // namespace orch::ingest
