#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace orch::plan {

// A simple command of a shell script, with variables filled in and quotes removed.
struct ScriptCommand {
  std::map<std::string, std::string> environment;  // NAME=value before its first word
  std::vector<std::string> words;
  int line = 0;
};

// A shell script that was read and not executed. Both branches of an `if`, and the body of a loop
// or function, count as if they ran once, in their order. A variable that is not set, and the
// output of a command, stay as they are written: $NAME, $(command).
struct ShellScript {
  std::vector<ScriptCommand> commands;  // also those inside bash -c '…', with the words before it
  std::vector<std::string> directives;  // the words of lines that begin with #SBATCH
  std::map<std::string, std::string> files;      // written by cat <<END > file, or echo … > file
  std::map<std::string, std::string> variables;  // as the script leaves them
};

// `variables`: those that are set before the script begins.
ShellScript read_shell_script(std::string_view text,
                              const std::map<std::string, std::string>& variables = {});

}  // namespace orch::plan
