#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

// Text output for terminals and Markdown.
namespace orch::show {

// The output's properties: 0 columns means unlimited width.
struct Screen {
  std::size_t width = 0;
  bool color = false;
  bool markdown = false;  // write tables and headings as Markdown
};

// A table of strings: the first row is the header.
using TextRows = std::vector<std::vector<std::string>>;

// Columns of numbers are right-aligned; a last column of text goes below its row if the screen is
// too narrow.
std::string grid(const TextRows& rows, const Screen& screen);
std::size_t width_of(const TextRows& rows);  // the width of its grid

// A separate line above the following text: bold on a terminal.
std::string heading(std::string_view title, const Screen& screen);

// Escapes a string for Markdown: neither the end of a cell, nor a link, nor HTML.
std::string markdown_text(std::string_view text);

// The text cut to that number of columns, with "…" at its end if it is longer.
std::string cut(const std::string& text, std::size_t width);

// Breaks lines at blanks where they exceed the screen's width; a continuation is indented like its
// line.
std::string wrap(std::string_view text, const Screen& screen);

// Adds ANSI colours if the screen has them.
std::string paint(std::string_view text, std::string_view code, const Screen& screen);

}  // namespace orch::show
