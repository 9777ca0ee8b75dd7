#include "core/record/ingest/reader.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "core/base/files.h"
#include "core/record/ingest/unpack.h"

namespace orch::ingest {
namespace {

using namespace std::string_view_literals;

constexpr std::size_t kBeginning = 4096;  // bytes that are checked to reject other files

// The length of the escape code at the front: ESC [ … letter, ESC ] … BEL or ESC \, or ESC and one
// character.
std::size_t escape_size(std::string_view text) {
  if (text.size() < 2) return text.size();
  if (text[1] == '[') {
    std::size_t at = 2;
    while (at < text.size() && (text[at] < 0x40 || text[at] > 0x7e)) ++at;
    return at < text.size() ? at + 1 : at;
  }
  if (text[1] == ']') {
    for (std::size_t at = 2; at < text.size(); ++at) {
      if (text[at] == '\a') return at + 1;
      if (text[at] == '\x1b') return at + 1 < text.size() && text[at + 1] == '\\' ? at + 2 : at;
    }
    return text.size();
  }
  return 2;
}

class LineSplitter {
 public:
  LineSplitter(const ReadOptions& options, ReadResult& result,
               const std::function<void(const LogLine&)>& take)
      : options_(options), result_(result), take_(take) {}

  // Passes on the lines that end in the block. The rest of the block waits for the next one.
  std::size_t split(std::string_view block) {
    const bool clean = is_clean(block);
    std::size_t at = 0;
    while (at < block.size()) {
      const void* found = std::memchr(block.data() + at, '\n', block.size() - at);
      if (!found) break;
      const auto end = static_cast<std::size_t>(static_cast<const char*>(found) - block.data());
      ++result_.lines;
      if (skipping_)
        skipping_ = false;
      else
        hand_on(block.substr(at, end - at), clean, true);
      at = end + 1;
    }
    return at + too_long(block.substr(at), clean);
  }

  void last(std::string_view rest) {
    if (rest.empty() || skipping_) return;
    ++result_.lines;
    hand_on(rest, is_clean(rest), false);
  }

 private:
  void hand_on(std::string_view line, bool clean, bool whole) {
    if (clean) return give(line, whole);
    // Each state of a progress bar is a line. "\r\n" is a single line ending.
    while (!line.empty()) {
      const auto end = std::min(line.find('\r'), line.size());
      clean_line(line.substr(0, end), cleaned_);
      if (!cleaned_.empty()) give(cleaned_, whole || end < line.size());
      line.remove_prefix(std::min(end + 1, line.size()));
    }
  }

  void give(std::string_view text, bool whole) {
    take_({text.substr(0, options_.longest_line), result_.lines, whole});
  }

  // Handles an unfinished line above the size limit: passes on the complete states of its progress
  // bar or, if there are none, its beginning. Returns the number of bytes that are done.
  std::size_t too_long(std::string_view rest, bool clean) {
    if (skipping_) return rest.size();
    if (rest.size() <= options_.longest_line) return 0;
    const auto bar = clean ? std::string_view::npos : rest.rfind('\r');
    const auto number = result_.lines;
    ++result_.lines;  // the number of this line, whose end has not been read yet
    if (bar != std::string_view::npos) {
      hand_on(rest.substr(0, bar), false, true);
      result_.lines = number;
      return bar + 1;
    }
    hand_on(rest, clean, true);
    result_.lines = number;
    skipping_ = true;
    return rest.size();
  }

  const ReadOptions& options_;
  ReadResult& result_;
  const std::function<void(const LogLine&)>& take_;
  bool skipping_ = false;
  std::string cleaned_;
};

// True if the text has a UTF-16 mark, or if every other byte is NUL, as in English text in UTF-16.
bool is_utf16(std::string_view text) {
  if (text.starts_with("\xff\xfe"sv) || text.starts_with("\xfe\xff"sv)) return true;
  std::size_t even = 0, odd = 0;
  for (std::size_t i = 0; i < text.size(); ++i) (i % 2 == 0 ? even : odd) += text[i] == '\0';
  const auto half = text.size() / 2;
  return half >= 16 && (even * 10 > half * 8) != (odd * 10 > half * 8);
}

// The reason why the beginning of a file is not text, with advice; "" if it may be text.
std::string why_not_text(std::string_view text) {
  if (const auto packing = packing_of(text); !packing.program.empty())
    return fmt::format("compressed ({}): {} FILE | orch ingest -", packing.program,
                       packing.by_hand);
  if (text.starts_with("PK\x03\x04"sv)) return "an archive (zip): unpack it first";
  if (is_utf16(text)) return "UTF-16: iconv -f UTF-16 -t UTF-8 FILE | orch ingest -";
  // NUL bytes and escape codes are allowed: a crash can leave NUL bytes in a log.
  std::size_t odd = 0;
  for (const char c : text)
    odd += (static_cast<unsigned char>(c) < 0x20 && c != '\n' && c != '\t' && c != '\r' &&
            c != '\x1b' && c != '\b' && c != '\f' && c != '\a' && c != '\0') ||
           c == '\x7f';
  const auto zeros = static_cast<std::size_t>(std::count(text.begin(), text.end(), '\0'));
  if (odd * 20 > text.size() || zeros * 2 > text.size()) return "binary";
  return "";
}

}  // namespace

bool is_clean(std::string_view block) {
  // Sixteen bytes are compared at a time, since every block is checked.
  using Bytes [[gnu::vector_size(16)]] = signed char;
  Bytes odd{};
  std::size_t at = 0;
  for (; at + sizeof(Bytes) <= block.size(); at += sizeof(Bytes)) {
    Bytes bytes;
    std::memcpy(&bytes, block.data() + at, sizeof bytes);
    odd |= (bytes == '\x1b') | (bytes == '\r') | (bytes == '\0');
  }
  for (std::size_t i = 0; i < sizeof(Bytes); ++i)
    if (odd[i] != 0) return false;
  return block.substr(at).find_first_of(std::string_view("\x1b\r\0", 3)) == block.npos;
}

void clean_line(std::string_view line, std::string& out) {
  out.clear();
  for (std::size_t at = 0; at < line.size();) {
    if (line[at] == '\x1b') {
      at += escape_size(line.substr(at));
    } else {
      if (line[at] != '\0') out += line[at];
      ++at;
    }
  }
}

Result<ReadResult> read_lines(int file, const std::string& name, const ReadOptions& options,
                              const std::function<void(const LogLine&)>& take) {
  ReadResult result;
  LineSplitter splitter(options, result, take);
  // The buffer has room for a line that began in the previous block.
  std::string buffer(options.block + options.longest_line, '\0');
  std::size_t held = 0;
  bool judged = false;
  while (true) {
    if (options.interrupted && options.interrupted()) {
      result.interrupted = true;
      return result;
    }
    const auto got = ::read(file, buffer.data() + held, buffer.size() - held);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return file_error(name, "read", errno);
    if (got == 0) break;
    result.bytes += static_cast<std::uint64_t>(got);
    held += static_cast<std::size_t>(got);
    const std::string_view block(buffer.data(), held);
    // A read from a pipe may return only a few bytes.
    if (!judged && held < std::min(kBeginning, buffer.size())) continue;
    if (!judged) {
      result.not_text = why_not_text(block.substr(0, kBeginning));
      if (!result.not_text.empty()) return result;
      judged = true;
    }
    const auto used = splitter.split(block);
    std::memmove(buffer.data(), buffer.data() + used, held - used);
    held -= used;
    if (options.progress) options.progress(result.bytes);
  }
  const std::string_view rest(buffer.data(), held);
  if (!judged) {
    result.not_text = why_not_text(rest.substr(0, kBeginning));
    if (!result.not_text.empty()) return result;
  }
  const auto used = splitter.split(rest);
  splitter.last(rest.substr(used));
  return result;
}

}  // namespace orch::ingest
