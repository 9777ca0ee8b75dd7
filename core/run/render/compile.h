#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"

namespace orch::render {

// The text of a {{ }} and its line in the template.
struct Expression {
  std::string text;
  int line = 0;
};

// A template as Lua. Every statement and expression is on the same line as in the template, so that
// line numbers in Lua's messages are right. The chunk gets two functions as arguments:
// text(literal) and value(value, expression, flags).
struct Compiled {
  std::string lua;
  std::vector<Expression> expressions;
};

enum ValueFlags {
  kQuoted = 0,
  kRaw = 1,
  kOneLine = 2,  // on a comment or #SBATCH line, which a line break would end
};

// Errors of the template syntax; Lua is not checked here.
Result<Compiled> compile(std::string_view text, const std::string& file);

}  // namespace orch::render
