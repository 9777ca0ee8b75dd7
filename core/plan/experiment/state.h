#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "core/base/files.h"
#include "core/base/result.h"
#include "core/plan/experiment/loader.h"
#include "core/plan/lua/sandbox.h"

namespace orch::experiment {

// The constructor call that made a table: its kind (model, strategy, choice, zip, experiment), its
// name, and its place. Kept in the table's metatable, so the table itself stays as written.
struct ConstructorTag {
  std::string kind;
  std::string name;
  std::string place;  // "200b.lua:14"
};

void set_tag(sol::table table, const ConstructorTag& tag);
ConstructorTag tag_of(const sol::object& object);  // kind is empty for values without constructor

// A copy of the table with its tag: two uses of one preset or table must not share their changes.
sol::table copy_of(const sol::table& from);

// include "common.lua": runs another file of the experiment's folder, or of a folder below it, and
// returns its result. The name is relative to the folder of the including file. Files outside the
// experiment's folder are refused, and so are circular includes.
class Includes {
 public:
  explicit Includes(lua::Sandbox& sandbox) : sandbox_(sandbox) {}

  // Defines include; it refuses to work before begin().
  void define();

  // Called around the reading of one experiment file.
  void begin(const std::string& file);
  void end() { open_.clear(); }

  const std::vector<std::string>& files() const { return files_; }  // since begin(), each once
  // The errors that stopped an included file, with places in that file; empty if there are none.
  const Errors& errors() const { return errors_; }

 private:
  sol::object include(const sol::object& name);
  Result<fs::path> find(const std::string& name) const;

  lua::Sandbox& sandbox_;
  fs::path root_;               // the experiment's folder, without links
  std::vector<fs::path> open_;  // files that are being read, by name
  std::vector<std::string> files_;
  Errors errors_;
};

// The Lua side of a loader: the sandbox, its constructors, and the record that functions get.
class Loader::State {
 public:
  State(std::vector<plan::StrategyPtr> strategies, std::vector<fs::path> models_files,
        std::vector<std::string> quantities);

  lua::Sandbox& sandbox() { return sandbox_; }
  Includes& includes() { return includes_; }
  const std::vector<plan::StrategyPtr>& strategies() const { return strategies_; }
  const std::vector<std::string>& quantities() const { return quantities_; }

  // Defines the constructors and reads the presets; a second call does nothing.
  Status prepare();
  const std::map<std::string, sol::table>& presets() const { return presets_; }
  fs::path preset_file(const std::string& name) const;
  void look_for_models(std::vector<fs::path> models_files);

  // Calls a user's function with the record r, whose fields come from the lookup. Once a function
  // has used up its budget, no other is called: otherwise thousands of runs would each wait for the
  // limit.
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
  std::set<std::string> families_;  // defined in files of models
  sol::table record_;
  const plan::Lookup* lookup_ = nullptr;  // while a user's function runs
  Errors exhausted_;                      // the error of the function that did not end
  bool prepared_ = false;
};

// Converts nil, booleans, numbers and strings; nothing for other types.
std::optional<plan::Value> to_value(const sol::object& object);
sol::stack_object push(lua_State* lua, const plan::Value& value);
// "a number", "nothing", "gpt{}": for messages.
std::string type_name(const sol::object& object);

// 3.5, 'text', or the name of the type for other values.
std::string shown(const sol::object& value);

// "hardware.nodes=16,32": a change of an experiment's table by the command line, before it is read.
// The path consists of field names, or positions and strategy names for lists; the value is written
// as in Lua, but a bare word is a string, and several values with commas are a list.
struct CommandLineChange {
  std::string text;                 // as given
  std::vector<std::string> places;  // where the reader will meet it: "strategies[1].fsdp.prefetch"
};

// Changes the table; tables that are shared are copied first.
Result<CommandLineChange> apply_change(Loader::State& state, const std::string& text,
                                       sol::table& top);

// Errors about a value that a change set get the change as their place.
void blame_changes(const std::vector<CommandLineChange>& changes, const std::string& file,
                   Errors& errors);

}  // namespace orch::experiment
