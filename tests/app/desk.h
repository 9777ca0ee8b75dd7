#pragma once

#include <stdlib.h>

#include <nlohmann/json.hpp>
#include <type_traits>

#include "core/app/commands.h"
#include "tests/place.h"
#include "tests/test.h"

// The result of a verb: all output to its console.
struct CommandOutput {
  orch::app::Exit exit = orch::app::Exit::ok;
  std::string out;    // the answer
  std::string notes;  // additional information, with the errors at the end
  std::vector<std::string> asked;

  nlohmann::json json() const { return nlohmann::json::parse(out); }
  bool has(std::string_view part) const { return out.find(part) != std::string::npos; }
  bool notes_have(std::string_view part) const { return notes.find(part) != std::string::npos; }
};

// The text of one kind of finding in a JSON answer; "": none.
inline std::string finding(const nlohmann::json& answer, std::string_view kind) {
  for (const auto& each : answer["findings"])
    if (each["kind"] == kind) return each["text"];
  return "";
}

// A place in which verbs run without a process: orch as shipped in this clone, no user's files, no
// program on the PATH.
class Desk : public TestFolder {
 public:
  Desk() {
    ::setenv("ORCH_HOME", ORCH_SOURCE_DIR, 1);
    ::setenv("ORCH_PLUGINS", ORCH_BINARY_DIR "/plugins", 1);
    ::setenv("PATH", (root() / "no-programs").c_str(), 1);
    ::setenv("XDG_DATA_HOME", (root() / "own").c_str(), 1);
    ::setenv("ORCH_MEASURE", "", 1);
    for (const auto* name : {"ORCH_TRAINER", "ORCH_BUILD_TRAINERS"}) ::unsetenv(name);
  }

  bool yes = true;  // the answer to all questions

  template <class Run, class Arguments>
  CommandOutput operator()(Run run, const Arguments& arguments) const {
    Heard console;
    console.yes = yes;
    const auto end = [&](const orch::app::Ending& ending) {
      console.complain(ending.errors);
      console.said.exit = ending.exit;
      return console.said;
    };
    if constexpr (std::is_invocable_v<Run, orch::app::App&, Arguments, orch::app::Console&>) {
      const auto app = orch::app::App::create();
      return end(app ? run(**app, arguments, console) : orch::app::Ending(app.error()));
    } else {
      return end(run(arguments, console));
    }
  }

  std::string runs() const { return (root() / "runs").string(); }

 private:
  struct Heard : orch::app::Console {
    void print(const std::string& text) override { said.out += text; }
    void note(const std::string& text) override { said.notes += text; }
    void complain(const orch::Errors& errors) override {
      for (const auto& error : errors) said.notes += error.text() + "\n";
    }
    bool confirm(const std::string& question) override {
      said.asked.push_back(question);
      return yes;
    }
    CommandOutput said;
    bool yes = true;
  };
};

// A shipped experiment.
inline std::string shipped(const std::string& name) {
  return ORCH_SOURCE_DIR "/experiments/" + name;
}
