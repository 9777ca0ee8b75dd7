#include "core/record/ingest/clean.h"

#include <cstring>

namespace orch::ingest {
namespace {

// How long the escape code at the front is: ESC [ … letter, ESC ] … BEL or ESC \, or ESC and one.
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

}  // namespace

bool is_clean(std::string_view block) {
  // Sixteen bytes at a time, in one go: a block is looked at before anything else is done to it.
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

}  // namespace orch::ingest
