#include "core/run/render/compile.h"

#include <fmt/format.h>

#include <optional>

#include "core/base/text.h"

namespace orch::render {
namespace {

std::string lua_string(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '\n')
      out += "\\n";
    else if (c == '"' || c == '\\')
      (out += '\\') += c;
    else if (static_cast<unsigned char>(c) < 0x20)
      out += fmt::format("\\{:03}", static_cast<int>(c));
    else
      out += c;
  }
  return out + '"';
}

// The position of the "}}" that ends an expression: not inside a string, not a brace of a table.
std::size_t expression_end(std::string_view text) {
  int depth = 0;
  char quote = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quote) {
      if (c == '\\')
        ++i;
      else if (c == quote)
        quote = 0;
    } else if (c == '"' || c == '\'') {
      quote = c;
    } else if (c == '{') {
      ++depth;
    } else if (c == '}' && depth > 0) {
      --depth;
    } else if (text.substr(i, 2) == "}}") {
      return i;
    }
  }
  return std::string_view::npos;
}

class Compiler {
 public:
  explicit Compiler(const std::string& file) : file_(file) {
    compiled_.lua = "local _text, _value = ...; ";
  }

  void line(std::string_view line) {
    ++line_;
    const auto start = line.find_first_not_of(" \t");
    const auto body = start == std::string_view::npos ? std::string_view{} : line.substr(start);
    if (body.starts_with("%%")) {
      literal_ += line.substr(0, start);
      text_line(body.substr(1));
    } else if (body.starts_with('%')) {
      statement(body.substr(1));
    } else {
      text_line(line);
    }
  }

  Result<Compiled> finish() {
    flush();
    if (!errors_.empty()) return errors_;
    return std::move(compiled_);
  }

 private:
  void text_line(std::string_view rest) {
    const bool directive = trim(rest).starts_with('#');
    for (;;) {
      const auto open = rest.find("{{");
      literal_ += rest.substr(0, open);
      if (open == std::string_view::npos) break;
      rest.remove_prefix(open + 2);
      const auto end = expression_end(rest);
      if (end == std::string_view::npos) {
        error("'{{' without '}}' on the same line", "end the expression with '}}'");
        break;
      }
      expression(rest.substr(0, end), directive);
      rest.remove_prefix(end + 2);
    }
    literal_ += '\n';
    ++newlines_;
  }

  void expression(std::string_view text, bool directive) {
    int flags = directive ? kOneLine : kQuoted;
    if (text.starts_with('!')) {
      flags |= kRaw;
      text.remove_prefix(1);
    }
    text = trim(text);
    if (text.empty()) return error("an expression is empty", "write {{ run.id }} or the like");
    flush();
    compiled_.lua += fmt::format("_value(({}), {}, {}); ", text, lua_string(text), flags);
    compiled_.expressions.push_back({std::string(text), line_});
  }

  void statement(std::string_view text) {
    flush();
    (compiled_.lua += text) += '\n';
  }

  // Literals are collected over several lines; line breaks are added to keep Lua's line numbers
  // right.
  void flush() {
    if (!literal_.empty()) compiled_.lua += "_text(" + lua_string(literal_) + "); ";
    compiled_.lua.append(newlines_, '\n');
    literal_.clear();
    newlines_ = 0;
  }

  void error(std::string fact, std::string fix) {
    errors_.push_back({fmt::format("{}:{}", file_, line_), std::move(fact), std::move(fix)});
  }

  const std::string& file_;
  Compiled compiled_;
  Errors errors_;
  std::string literal_;
  std::size_t newlines_ = 0;
  int line_ = 0;
};

}  // namespace

Result<Compiled> compile(std::string_view text, const std::string& file) {
  Compiler compiler(file);
  if (text.ends_with('\n')) text.remove_suffix(1);
  for (const auto& line : split(text, '\n')) {
    std::string_view body = line;
    if (body.ends_with('\r')) body.remove_suffix(1);  // bash would take it for part of an argument
    compiler.line(body);
  }
  return compiler.finish();
}

}  // namespace orch::render
