#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string_view>

#include "core/base/result.h"

namespace orch::tokenize {

struct Match {
  std::size_t begin = 0;
  std::size_t end = 0;
};

// A regular expression over UTF-8, compiled to machine code where that can be. For one thread.
class Regex {
 public:
  static Result<Regex> compile(std::string_view oniguruma);
  // Text that is found as it is.
  static Result<Regex> literal(std::string_view text);

  Regex(Regex&&) noexcept;
  Regex& operator=(Regex&&) noexcept;
  ~Regex();

  // The first match that begins at `from` or later, of at least one character. The text must be
  // UTF-8. Throws std::runtime_error if matching takes too much memory.
  std::optional<Match> find(std::string_view text, std::size_t from) const;

 private:
  struct Compiled;
  explicit Regex(std::unique_ptr<Compiled> compiled);
  std::unique_ptr<Compiled> compiled_;
};

}  // namespace orch::tokenize
