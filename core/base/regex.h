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
  bool unicode = false;          // over characters, with Unicode's classes; else over bytes
  bool lines = false;            // ^ and $ are the ends of a line, not of the text
  bool literal = false;          // text that is found as it is
  std::uint32_t most_tries = 0;  // beyond them a search gives up; 0: where the library does
};

// A regular expression (PCRE2, compiled to machine code where that can be), with named groups; one
// name may occur in two branches. For one thread.
class Regex {
 public:
  // An error has no place, and says at which character.
  static Result<Regex> compile(std::string_view pattern, const RegexOptions& options = {});
  Regex(Regex&&) noexcept;
  Regex& operator=(Regex&&) noexcept;
  ~Regex();

  const std::vector<std::pair<std::string, std::size_t>>& groups() const { return groups_; }

  // Whether there is a match from `from` on; what follows then answers until the next search. For
  // Unicode the text must be UTF-8.
  bool search(std::string_view text, std::size_t from) const;
  std::size_t match_begin() const;
  std::size_t match_end() const;
  // What a group holds; nothing where it took no part.
  std::string_view group(std::size_t index) const;
  // Why the last search gave up before it was through; empty: it did not.
  std::string gave_up() const;

 private:
  struct Compiled;
  explicit Regex(std::unique_ptr<Compiled> compiled);
  std::unique_ptr<Compiled> compiled_;
  std::vector<std::pair<std::string, std::size_t>> groups_;
};

}  // namespace orch
