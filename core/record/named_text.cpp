#include "core/record/named_text.h"

#include <algorithm>

#include "core/base/text.h"

namespace orch::record {
namespace {

constexpr std::size_t kMostNames = 1000;
constexpr int kDeepest = 4;

// Reads one object, beginning at its '{'.
class ObjectReader {
 public:
  ObjectReader(std::string_view text, const VisitText& visit) : text_(text), visit_(visit) {}

  bool read() { return object("", 0) && rest().empty(); }

 private:
  std::string_view rest() const { return trim(text_.substr(at_)); }

  void skip_blanks() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t')) ++at_;
  }

  bool take(char c) {
    skip_blanks();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }

  bool quoted(std::string_view& out) {
    const char mark = take('"') ? '"' : take('\'') ? '\'' : '\0';
    if (mark == '\0') return false;
    const auto begin = at_;
    for (; at_ < text_.size() && text_[at_] != mark; ++at_)
      if (text_[at_] == '\\') ++at_;
    if (at_ >= text_.size()) return false;
    out = text_.substr(begin, at_++ - begin);
    return true;
  }

  // Skips a list or other brackets, whose content is not used.
  bool skip_brackets() {
    int open = 0;
    for (; at_ < text_.size(); ++at_) {
      const char c = text_[at_];
      std::string_view words;
      if ((c == '"' || c == '\'') && !quoted(words)) return false;
      if (at_ >= text_.size()) return false;
      open += text_[at_] == '[' || text_[at_] == '(';
      open -= text_[at_] == ']' || text_[at_] == ')';
      if (open == 0) return ++at_, true;
    }
    return false;
  }

  bool value(std::string_view name, int depth) {
    std::string_view words;
    skip_blanks();
    if (at_ >= text_.size()) return false;
    if (text_[at_] == '{') return object(std::string(name) + "/", depth + 1);
    if (text_[at_] == '[' || text_[at_] == '(') return skip_brackets();
    if (text_[at_] != '"' && text_[at_] != '\'') {
      const auto begin = at_;
      while (at_ < text_.size() && text_[at_] != ',' && text_[at_] != '}') ++at_;
      words = trim(text_.substr(begin, at_ - begin));
      if (words.empty()) return false;
    } else if (!quoted(words)) {
      return false;
    }
    if (count_++ < kMostNames) visit_(name, words);
    return true;
  }

  bool object(const std::string& before, int depth) {
    if (depth > kDeepest || !take('{')) return false;
    if (take('}')) return true;
    do {
      std::string_view name;
      if (!quoted(name) || !take(':')) return false;
      const bool sound =
          before.empty() ? value(name, depth) : value(before + std::string(name), depth);
      if (!sound) return false;
    } while (take(','));
    return take('}');
  }

  std::string_view text_;
  const VisitText& visit_;
  std::size_t at_ = 0, count_ = 0;
};

}  // namespace

bool each_value(std::string_view line, const VisitText& visit) {
  line = trim(line);
  const auto begin = line.find('{');
  if (!line.ends_with('}') || begin == line.npos) return false;
  return ObjectReader(line.substr(begin), visit).read();
}

bool read_object(std::string_view line, std::vector<NamedText>& out) {
  out.clear();
  return each_value(
      line, [&](std::string_view name, std::string_view value) { out.emplace_back(name, value); });
}

void split_cells(std::string_view line, std::vector<std::string_view>& out) {
  out.clear();
  for (std::size_t at = 0; at <= line.size();) {
    const bool is_quoted = at < line.size() && line[at] == '"';
    const auto from = is_quoted ? std::min(line.find('"', at + 1), line.size()) : at;
    const auto end = std::min(line.find(',', from), line.size());
    auto cell = trim(line.substr(at, end - at));
    if (cell.size() >= 2 && cell.front() == '"' && cell.back() == '"')
      cell = cell.substr(1, cell.size() - 2);
    out.push_back(cell);
    at = end + 1;
  }
}

std::string shortened(std::string_view text, std::size_t most) {
  const auto whole = printable(text);
  if (whole.size() <= most) return whole;
  auto end = most;
  while (end > 0 && (static_cast<unsigned char>(whole[end]) & 0xc0) == 0x80) --end;
  return whole.substr(0, end) + "…";
}

}  // namespace orch::record
