#pragma once

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/run/store/index.h"

namespace orch::store {

std::string index_line(const Index::Row& row);
std::string forget_line(const std::string& experiment, const std::string& id);

// The first line of a file, and the last one of a batch of so many.
std::string index_head();
std::string batch_end(std::size_t lines);

// What the lines of a file come to.
struct IndexLines {
  using Key = std::pair<std::string, std::string>;  // experiment and id
  std::map<Key, Index::Row> rows;                   // of the experiment that was asked for
  std::set<Key> keys;                               // of all experiments
  std::size_t lines = 0;  // of all of them, those that later ones replaced included
  std::size_t whole = 0;  // bytes up to the end of the last batch that is whole
  bool other_version = false;
};
// An error where it is no file of ours; a part of the first line is as good as nothing. Rows of one
// experiment, or of all.
Result<IndexLines> parse_index(const std::string& text, const std::string& experiment = {});

}  // namespace orch::store
