#pragma once

#include <deque>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "core/base/clock.h"
#include "core/base/files.h"
#include "core/base/shell.h"

namespace orch {

// Records the commands and plays scripted replies, by program: those given with once() first, in
// order, then the one given with always(). A program without replies cannot be started.
class FakeShell : public Shell {
 public:
  std::vector<Command> commands;

  void always(const std::string& program, Output output) { always_[program] = std::move(output); }
  void once(const std::string& program, Output output) {
    once_[program].push_back(std::move(output));
  }
  // Called while the program runs.
  std::function<void(const Command&)> during;

  Result<Output> run(const Command& command) override {
    commands.push_back(command);
    if (during) during(command);
    const auto& program = command.argv.at(0);
    Output output;
    if (auto& queue = once_[program]; !queue.empty()) {
      output = queue.front();
      queue.pop_front();
    } else if (const auto found = always_.find(program); found != always_.end()) {
      output = found->second;
    } else {
      return Error{program, "cannot run it: no such program in PATH", ""};
    }
    if (command.output.empty()) return output;
    if (auto written = write_file_atomically(command.output, output.out); !written)
      return written.error();
    output.out.clear();
    return output;
  }

  std::size_t count(const std::string& program) const {
    std::size_t count = 0;
    for (const auto& command : commands) count += command.argv.at(0) == program ? 1 : 0;
    return count;
  }

 private:
  std::map<std::string, std::deque<Output>> once_;
  std::map<std::string, Output> always_;
};

// Time passes only during sleep.
class FakeClock : public Clock {
 public:
  double time = 1'800'000'000;
  double now() const override { return time; }
  double steady() const override { return time; }
  void sleep(double seconds) override { time += seconds; }
};

}  // namespace orch
