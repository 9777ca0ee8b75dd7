#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/plan/lua/sandbox.h"
#include "core/run/render/framework.h"

namespace orch::render {

// Converts the result of a framework's template to a Launch, and reports every mistake at once.
class LaunchReader {
 public:
  explicit LaunchReader(const fs::path& file) : file_(file) {}

  Launch read(const sol::object& made);
  const Errors& errors() const { return errors_; }
  // Flags that a field of the run determines, though they are not on the command line.
  const std::map<std::string, std::string>& owned() const { return owned_; }

  std::string text(const sol::table& table, const char* name);                // "" if missing
  std::vector<std::string> texts(const sol::table& table, const char* name);  // in their order

  // The result of a template's function read.
  void read_back(const sol::table& table, LaunchReading& to);

 private:
  std::optional<sol::table> inner(const sol::table& table, const char* name, const char* what,
                                  const char* fix);
  std::vector<Word> words(const sol::table& table, const char* name);
  Word word(const sol::object& held, const std::string& place);
  std::map<std::string, Word> named_words(const sol::table& table, const char* name);
  void read_values(const sol::table& table, const char* name, LaunchReading::Fields& to);
  void read_files(const sol::table& table, Launch& launch);
  void add_file(const std::string& name, std::string text, const std::string& place,
                Launch& launch);
  void read_stop(const sol::table& table, Launch& launch);
  void error(const std::string& place, std::string fact, std::string fix);

  const fs::path& file_;
  Errors errors_;
  std::map<std::string, std::string> owned_;
};

}  // namespace orch::render
