#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/price/backend/work.h"

namespace orch::estimate {

// Ingredients of an estimate that are left out, so that one can see what they are worth.
class Without {
 public:
  Without() = default;

  // Operations, blocks and memory by their names, whatever the case; "optimizer states" is also
  // "optimizer states: layers". Besides, words for what is no single operation: see words(). A name
  // that is neither a word nor among the known ones is an error with a guess.
  static Result<Without> from(const std::vector<std::string>& names,
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

  // Takes them out of the work, which must have been asked for with its names.
  void apply(backend::Work& work) const;

 private:
  bool names(std::string_view name) const;

  std::set<std::string> names_;  // in small letters
};

// The names that Without knows of a work.
void add_names(const backend::Work& work, std::set<std::string>& names);

}  // namespace orch::estimate
