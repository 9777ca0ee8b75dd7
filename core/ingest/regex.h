#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/result.h"

namespace orch::ingest {

// A regular expression over bytes (PCRE2, compiled to machine code where that can be), with named
// groups. A pattern that would search without end gives up and does not match. For one thread.
class Regex {
 public:
  static Result<Regex> compile(std::string_view pattern);
  Regex(Regex&&) noexcept;
  Regex& operator=(Regex&&) noexcept;
  ~Regex();

  const std::vector<std::pair<std::string, std::size_t>>& groups() const { return groups_; }

  // The first match from `from` on; group() then answers until the next search.
  bool search(std::string_view text, std::size_t from) const;
  std::size_t match_end() const;
  // What a group holds; nothing where it took no part.
  std::string_view group(std::size_t index) const;

 private:
  struct Compiled;
  explicit Regex(std::unique_ptr<Compiled> compiled);
  std::unique_ptr<Compiled> compiled_;
  std::vector<std::pair<std::string, std::size_t>> groups_;
};

}  // namespace orch::ingest
