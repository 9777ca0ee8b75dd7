#include <algorithm>
#include <charconv>
#include <string_view>
#include <utility>

#include "core/base/plain_file.h"
#include "core/record/events/collect.h"

namespace orch::events {
namespace {

constexpr std::int64_t kChunk = 4 << 20;
constexpr std::int64_t kBlock = 64 << 10;
constexpr std::int64_t kFurthest = 16 << 20;

// The position of the last `lines` lines; an incomplete last line counts as one.
std::int64_t start_of_last(const PlainFile& file, std::int64_t lines) {
  const auto size = file.size();
  if (lines == 0 || size == 0) return size;
  const auto furthest = std::max<std::int64_t>(0, size - kFurthest);
  auto at = size;
  bool last = true;
  while (at > furthest) {
    const auto from = std::max(furthest, at - kBlock);
    const auto block = file.read(from, at - from);
    for (auto i = static_cast<std::int64_t>(block.size()) - 1; i >= 0; --i) {
      const bool is_end = block[static_cast<std::size_t>(i)] == '\n';
      if (is_end && !last && --lines == 0) return from + i + 1;
      last = false;
    }
    at = from;
  }
  return furthest;
}

// The rank in "3: text", " 3: text", "[3] text" or "[rank3]: text"; -1: none.
int label_of(std::string_view line) {
  while (line.starts_with(' ')) line.remove_prefix(1);
  const bool bracket = line.starts_with('[');
  if (bracket) line.remove_prefix(1);
  if (bracket && line.starts_with("rank")) line.remove_prefix(4);
  int rank = -1;
  const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), rank);
  if (error != std::errc() || rank < 0) return -1;
  line.remove_prefix(static_cast<std::size_t>(end - line.data()));
  return line.starts_with(bracket ? "]" : ":") ? rank : -1;
}

}  // namespace

LogTail::LogTail(fs::path file, std::int64_t lines) : file_(std::move(file)), lines_(lines) {}

LogTail::Chunk LogTail::next() {
  const PlainFile file(file_);
  if (!file.is_open()) return {};
  if (at_ < 0) at_ = lines_ < 0 ? 0 : start_of_last(file, lines_);
  if (at_ > file.size()) at_ = 0;
  Chunk chunk;
  chunk.text = file.read(at_, std::min(kChunk, file.size() - at_));
  at_ += static_cast<std::int64_t>(chunk.text.size());
  chunk.more = !chunk.text.empty() && at_ < file.size();
  return chunk;
}

std::string lines_of_rank(const std::string& text, int rank) {
  std::string ours;
  std::size_t labelled = 0;
  std::size_t bare = 0;
  for (std::string_view rest = text; !rest.empty();) {
    const auto line = rest.substr(0, std::min(rest.find('\n'), rest.size() - 1) + 1);
    rest.remove_prefix(line.size());
    const int label = label_of(line);
    if (label >= 0)
      ++labelled;
    else
      bare += line != "\n";
    if (label == rank) ours += line;
  }
  return labelled == 0 || labelled < bare ? text : ours;
}

}  // namespace orch::events
