#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

// Texts on a terminal and in Markdown.
namespace orch::show {

// How the output is looked at: 0 columns means "as wide as it gets".
struct Screen {
  std::size_t width = 0;
  bool color = false;
  bool markdown = false;  // tables and headings are written as Markdown
};

// A table of texts: the first row is the head.
using Rows = std::vector<std::vector<std::string>>;

// Columns of numbers are set to the right; a last column of text goes below its row where the
// screen is too narrow for it.
std::string grid(const Rows& rows, const Screen& screen);
std::size_t width_of(const Rows& rows);  // of the grid

// Without the column of that title, where every cell of it says the same plain word.
Rows without_plain(Rows rows, const std::string& title, const std::string& word);

// A line of its own above what follows: bold on a terminal.
std::string heading(std::string_view title, const Screen& screen);

// A grid below its heading, and a blank line above both.
std::string titled(std::string_view title, const Rows& rows, const Screen& screen);

// A text as Markdown shows it: neither a column's end, nor a link, nor HTML.
std::string markdown_text(std::string_view text);

// The text in at most that number of columns, its end replaced by "…" if it is longer.
std::string cut(const std::string& text, std::size_t width);

// Breaks lines at blanks where they are longer than the screen; a new line is indented like the one
// it continues.
std::string wrap(std::string_view text, const Screen& screen);

// ANSI colours where the screen wants them.
std::string paint(std::string_view text, std::string_view code, const Screen& screen);

}  // namespace orch::show
