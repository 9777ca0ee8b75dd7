#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/result.h"

namespace orch {

struct RegexOptions {
  bool unicode = false;          // matches characters, with Unicode's classes; otherwise bytes
  bool lines = false;            // ^ and $ match at the ends of each line, not only of the text
  bool literal = false;          // the pattern is plain text, not a regular expression
  std::uint32_t most_tries = 0;  // of a search, which then gives up; 0: the library's limit
};

// A regular expression (PCRE2, compiled to machine code where possible), with named groups; the
// same name may occur in two branches. Not thread-safe.
class Regex {
 public:
  // An error has an empty place and contains the position in the pattern.
  static Result<Regex> compile(std::string_view pattern, const RegexOptions& options = {});
  Regex(Regex&&) noexcept;
  Regex& operator=(Regex&&) noexcept;
  ~Regex();

  const std::vector<std::pair<std::string, std::size_t>>& groups() const { return groups_; }

  // True if there is a match from `from` on; the functions below refer to it until the next search.
  // With `unicode` the text must be UTF-8.
  bool search(std::string_view text, std::size_t from) const;
  std::size_t match_begin() const;
  std::size_t match_end() const;
  // The text of a group; empty where the group took no part in the match.
  std::string_view group(std::size_t index) const;
  // Why the last search gave up before it was finished; empty: it did not.
  std::string gave_up() const;

 private:
  struct Compiled;
  explicit Regex(std::unique_ptr<Compiled> compiled);
  std::unique_ptr<Compiled> compiled_;
  std::vector<std::pair<std::string, std::size_t>> groups_;
};

}  // namespace orch
