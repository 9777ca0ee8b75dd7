#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/price/backend/work.h"

namespace orch::estimate {

// Parts of an estimate that are left out, to show what they are worth.
class LeftOutTerms {
 public:
  LeftOutTerms() = default;

  // Accepts operations, blocks and memory by their names, ignoring case; "optimizer states" also
  // means "optimizer states: layers". Besides, keywords for what is not a single operation: see
  // words(). A name that is neither a keyword nor known is an error with a suggestion.
  static Result<LeftOutTerms> from(const std::vector<std::string>& names,
                                   const std::set<std::string>& known);

  // alignment       attention is as fast for any head_dim
  // bubble          the pipe is full from the first micro-batch on
  // communication   no collective and no send
  // eras            a machine is the same on every day
  // memory-bound    operations that move bytes through the device's memory take no time
  // partition       every stage has the same share of the layers
  // recompute       nothing is computed twice
  // slowest stage   each stage takes as long for a micro-batch as all do on average
  static const std::vector<std::string>& words();

  bool empty() const { return names_.empty(); }
  bool has(const std::string& name) const { return names_.contains(name); }

  // Removes them from the work, which must have names.
  void apply(backend::Work& work) const;

 private:
  bool names(std::string_view name) const;

  std::set<std::string> names_;  // in lower case
};

// Adds the names that a work contains.
void add_names(const backend::Work& work, std::set<std::string>& names);

}  // namespace orch::estimate
