#include "core/run/launch/local/supervisor_output.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <cstdio>
#include <cstring>

namespace orch::launch {
namespace {

constexpr std::size_t kLongestLine = std::size_t{64} << 10;
constexpr std::size_t kFlushAt = std::size_t{1} << 20;

}  // namespace

RankLog::RankLog(const fs::path& file)
    : file_(::open(file.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644)) {}

RankLog::~RankLog() {
  for (std::size_t rank = 0; rank < open_lines_.size(); ++rank) close(rank);
  flush();
}

std::string& RankLog::open_line(std::size_t rank) {
  if (rank >= open_lines_.size()) open_lines_.resize(rank + 1);
  return open_lines_[rank];
}

void RankLog::end_line(std::size_t rank, std::string_view rest) {
  auto& line = open_line(rank);
  fmt::format_to(std::back_inserter(ready_), "{}: ", rank);
  ready_.append(line).append(rest).push_back('\n');
  line.clear();
}

void RankLog::add(std::size_t rank, std::string_view bytes) {
  while (!bytes.empty()) {
    const auto room = kLongestLine - open_line(rank).size();
    const auto line_break = bytes.substr(0, room).find('\n');
    if (line_break != std::string_view::npos) {
      end_line(rank, bytes.substr(0, line_break));
      bytes.remove_prefix(line_break + 1);
    } else if (bytes.size() >= room) {
      end_line(rank, bytes.substr(0, room));
      bytes.remove_prefix(room);
    } else {
      open_line(rank).append(bytes);
      return;
    }
    if (ready_.size() >= kFlushAt) flush();
  }
}

void RankLog::close(std::size_t rank) {
  if (!open_line(rank).empty()) end_line(rank, {});
}

void RankLog::say(const std::string& line) {
  ready_ += "orch: " + line + "\n";
  flush();
}

void RankLog::flush() {
  if (const int error = write_all(file_.get(), ready_); error != 0 && !failed_) {
    std::fprintf(stderr, "orch: output is lost: cannot write stdout.log: %s\n",
                 std::strerror(error));
    failed_ = true;
  }
  ready_.clear();
}

}  // namespace orch::launch
