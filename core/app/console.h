#pragma once

#include <optional>
#include <string>
#include <utility>

#include "core/base/result.h"

namespace orch::app {

// The result of a verb, sorted by severity.
enum class Exit {
  ok,
  error,
  usage,
  invalid_experiment,
  runs_failed,
  scheduler_unreachable,
  over_budget,
  over_tolerance,
  interrupted,
};

// How a verb ended, with the errors that are still to be printed.
struct [[nodiscard]] Ending {
  Ending(Exit reached) : exit(reached) {}
  Ending(Error error) : exit(Exit::error), errors(std::move(error)) {}
  Ending(Errors all, Exit reached = Exit::error) : exit(reached), errors(std::move(all)) {}
  bool ok() const { return exit == Exit::ok; }

  Exit exit;
  Errors errors;
};

// The output of a verb: a terminal, a file, a test.
class Console {
 public:
  virtual ~Console() = default;

  virtual void print(const std::string& text) = 0;       // the answer
  virtual void note(const std::string& text) = 0;        // additional information
  virtual void complain(const Errors& errors) = 0;       // the verb continues
  virtual void progress(const std::string& /*line*/) {}  // replaces the last line; "": removes it

  virtual bool can_ask() const { return false; }
  virtual bool confirm(const std::string& question) = 0;  // false if no one can be asked

  struct Size {
    std::size_t columns = 80;
    std::size_t lines = 24;
  };
  // The size of a picture that is redrawn in place; nothing if that is impossible.
  virtual std::optional<Size> canvas() const { return std::nullopt; }
  virtual void draw(const std::string& /*picture*/) {}  // "": removes it; printed text comes above
};

}  // namespace orch::app
