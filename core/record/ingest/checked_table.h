#pragma once

#include <functional>
#include <sol/sol.hpp>
#include <string>
#include <vector>

#include "core/base/result.h"

namespace orch::ingest {

// "a text", "a number", "nothing": for messages.
std::string type_name(const sol::object& object);

// A table of a pattern file and its place in it: what is not as it should be goes to the errors.
class CheckedTable {
 public:
  CheckedTable(sol::table table, std::string place, const std::string& file, Errors& errors)
      : table_(std::move(table)), place_(std::move(place)), file_(file), errors_(errors) {}

  const std::string& place() const { return place_; }
  std::string below(const std::string& name) const;
  void error(const std::string& place, std::string fact, std::string fix) const;

  // The names in order; one that is not allowed is an error with a suggestion.
  std::vector<std::string> names(const std::vector<std::string>& allowed) const;
  sol::object get(const std::string& name) const { return table_.raw_get<sol::object>(name); }
  bool has(const std::string& name) const { return get(name).get_type() != sol::type::lua_nil; }

  std::string text(const char* name) const;          // "": not given
  bool flag(const char* name) const;                 // false: not given
  int whole(const char* name, int otherwise) const;  // from 0 to 1000
  // Calls read(key, value) for each entry of a table in the order of the keys, which are texts;
  // example says how it is written.
  void each(const char* name, const char* example,
            const std::function<void(const std::string&, const sol::object&)>& read) const;
  // Calls read with each table of a list.
  void each_rule(const char* list, const std::function<void(const CheckedTable&)>& read) const;

 private:
  sol::table table_;
  std::string place_;
  const std::string& file_;
  Errors& errors_;
};

}  // namespace orch::ingest
