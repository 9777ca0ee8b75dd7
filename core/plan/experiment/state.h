#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "core/plan/experiment/include.h"
#include "core/plan/experiment/loader.h"
#include "core/plan/lua/sandbox.h"

namespace orch::experiment {

// What a constructor call made: the kind (model, strategy, choice, zip, experiment), the name it
// was called by, and where. Kept in the table's metatable, so the table itself stays as written.
struct Tag {
  std::string kind;
  std::string name;
  std::string place;  // "200b.lua:14"
};

void set_tag(sol::table table, const Tag& tag);
Tag tag_of(const sol::object& object);  // kind is empty for what no constructor made

// The same table, its tag kept, that nobody else holds: two uses of one preset or table do not share what
// they override.
sol::table copy_of(const sol::table& from);

// The Lua side of a loader: the sandbox, its constructors, and the record that functions get.
class Loader::State {
 public:
  State(std::vector<plan::StrategyPtr> strategies, std::vector<fs::path> models_files,
        std::vector<std::string> quantities);

  lua::Sandbox& sandbox() { return sandbox_; }
  Includes& includes() { return includes_; }
  const std::vector<plan::StrategyPtr>& strategies() const { return strategies_; }
  const std::vector<std::string>& quantities() const { return quantities_; }

  // Defines the constructors and reads the presets; does nothing the second time.
  Status prepare();
  const std::map<std::string, sol::table>& presets() const { return presets_; }
  fs::path preset_file(const std::string& name) const;
  void look_for_models(std::vector<fs::path> models_files);

  // Calls a user's function with the record r, which answers through the lookup. Once a function
  // has used up its budget no other is called: thousands of runs would each wait for it.
  Result<sol::object> call_with_record(const sol::reference& function, const plan::Lookup& lookup);

 private:
  void define(const std::string& name, const std::string& kind);
  void define_preset();
  void define_expand();
  void define_record();
  Status read_presets();
  Status read_presets(const fs::path& file, const std::string& shown);
  Status add_family(const std::string& name, const sol::object& function, const fs::path& file);

  lua::Sandbox sandbox_;
  Includes includes_{sandbox_};
  std::vector<plan::StrategyPtr> strategies_;
  std::vector<std::string> quantities_;
  std::vector<fs::path> models_files_;
  bool presets_read_ = false;
  std::map<std::string, sol::table> presets_;
  std::map<std::string, fs::path> preset_files_;
  std::set<std::string> families_;  // of files of models
  sol::table record_;
  const plan::Lookup* lookup_ = nullptr;  // while a user's function runs
  Errors exhausted_;                      // of the function that never ended
  bool prepared_ = false;
};

// nil, booleans, numbers and texts; nothing for anything else.
std::optional<plan::Value> to_value(const sol::object& object);
sol::object from_value(sol::state_view lua, const plan::Value& value);
// "a number", "nothing", "gpt{}": for messages.
std::string type_name(const sol::object& object);

// 3.5, 'text', or what cannot be shown by its type.
std::string shown(const sol::object& value);

}  // namespace orch::experiment
