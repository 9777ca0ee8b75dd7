#include "core/show/screen.h"

#include <algorithm>
#include <cctype>

#include "core/base/text.h"

namespace orch::show {
namespace {

const std::string kIndent(6, ' ');

bool is_number(std::string_view text) {
  return !text.empty() &&
         (std::isdigit(static_cast<unsigned char>(text[0])) || text[0] == '-' || text[0] == '+');
}

// A column is numeric if all its cells below the header are.
std::vector<bool> numeric_columns(const TextRows& rows) {
  std::vector<bool> numeric(rows.front().size(), rows.size() > 1);
  for (std::size_t i = 1; i < rows.size(); ++i)
    for (std::size_t c = 0; c < numeric.size(); ++c)
      if (!rows[i][c].empty() && !is_number(rows[i][c])) numeric[c] = false;
  return numeric;
}

std::vector<std::size_t> widths(const TextRows& rows) {
  std::vector<std::size_t> width(rows.front().size(), 0);
  for (const auto& row : rows)
    for (std::size_t c = 0; c < width.size(); ++c)
      width[c] = std::max(width[c], display_width(row[c]));
  return width;
}

std::string pad(const std::string& text, std::size_t width, bool right) {
  const std::string blanks(width - std::min(width, display_width(text)), ' ');
  return right ? blanks + text : text + blanks;
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Removes a number at the end, of which only a part would be left.
void drop_number(std::string& text) {
  const auto end = text.find_last_not_of("0123456789.,:/×+");
  const auto from = end == std::string::npos ? 0 : end + 1;
  if (std::any_of(text.begin() + static_cast<std::ptrdiff_t>(from), text.end(), is_digit))
    text.resize(from);
}

// The words of a line. A number and its unit are one word: "12.3 days", "90 %".
std::vector<std::string> words_of(std::string_view line) {
  std::vector<std::string> out;
  for (auto& word : split(line, ' '))
    if (!out.empty() && !word.empty() && !out.back().empty() && is_digit(out.back().back()) &&
        out.back().find(' ') == std::string::npos)
      out.back() += " " + word;
    else
      out.push_back(std::move(word));
  return out;
}

// The column where the text of a line begins: "      18  heads: ..." has a count before it.
std::size_t text_start(const std::string& line) {
  const auto gap = line.rfind("  ", 8);
  return gap == std::string::npos ? 0 : std::min(gap + 2, line.size());
}

std::string markdown(const TextRows& rows) {
  const auto numeric = numeric_columns(rows);
  std::string out;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    out += "|";
    for (const auto& cell : rows[i]) out += " " + markdown_text(cell) + " |";
    out += "\n";
    if (i > 0) continue;
    out += "|";
    for (const bool right : numeric) out += right ? " ---: |" : " --- |";
    out += "\n";
  }
  return out;
}

}  // namespace

std::string markdown_text(std::string_view text) {
  std::string out;
  for (const char c : printable(text)) {
    if (c == '<') {
      out += "&lt;";
      continue;
    }
    if (std::string_view("|\\[*`").find(c) != std::string_view::npos) out += '\\';
    out += c;
  }
  return out;
}

std::string paint(std::string_view text, std::string_view code, const Screen& screen) {
  if (!screen.color) return std::string(text);
  return "\033[" + std::string(code) + "m" + std::string(text) + "\033[0m";
}

std::string heading(std::string_view title, const Screen& screen) {
  if (screen.markdown) return "## " + markdown_text(title) + "\n\n";
  return paint(title, "1", screen) + "\n";
}

std::string cut(const std::string& text, std::size_t width) {
  if (display_width(text) <= width || width < 2) return text;
  std::string out;
  for (const char c : text) {
    if ((static_cast<unsigned char>(c) & 0xc0) != 0x80 && display_width(out) == width - 1) {
      if (is_digit(c) || c == '.' || c == ',') drop_number(out);
      break;
    }
    out += c;
  }
  return out + "…";
}

std::string wrap(std::string_view text, const Screen& screen) {
  if (screen.width == 0) return std::string(text);
  std::string out;
  for (const auto& line : split(text, '\n')) {
    const auto indent = text_start(line);
    std::string current = line.substr(0, indent);
    bool empty = true;  // no word on this line yet
    for (const auto& word : words_of(line.substr(indent))) {
      if (!empty && display_width(current) + 1 + display_width(word) > screen.width) {
        out += current + "\n";
        current = std::string(indent, ' ');
        empty = true;
      }
      current += (empty ? "" : " ") + word;
      empty = false;
    }
    out += current + "\n";
  }
  out.pop_back();  // split() returns one line more than there are line ends
  return out;
}

std::string grid(const TextRows& rows, const Screen& screen) {
  if (rows.empty()) return "";
  if (screen.markdown) return markdown(rows);
  const auto numeric = numeric_columns(rows);
  const auto width = widths(rows);
  const auto last = width.size() - 1;
  std::string out;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    std::string line, below;
    for (std::size_t c = 0; c < width.size(); ++c) {
      if (c) line += "  ";
      // A last text column moves to separate lines if the screen is too narrow.
      if (c < last || numeric[c] || screen.width == 0 ||
          display_width(line) + display_width(rows[i][c]) <= screen.width)
        line += pad(rows[i][c], width[c], numeric[c]);
      else if (i > 0 && !rows[i][c].empty())
        below = wrap(kIndent + rows[i][c] + "\n", screen);
    }
    while (!line.empty() && line.back() == ' ') line.pop_back();
    out += (i == 0 ? paint(line, "1", screen) : line) + "\n" + below;
  }
  return out;
}

std::size_t width_of(const TextRows& rows) {
  std::size_t widest = 0;
  const auto text = grid(rows, {});
  for (const auto& line : split(text, '\n')) widest = std::max(widest, display_width(line));
  return widest;
}

}  // namespace orch::show
