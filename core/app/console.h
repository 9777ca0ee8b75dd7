#pragma once

#include <optional>
#include <string>
#include <utility>

#include "core/base/result.h"

namespace orch::app {

// What a verb came to, the worse the later.
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

// How a verb ended, and the errors that are still to be told.
struct [[nodiscard]] Ending {
  Ending(Exit reached) : exit(reached) {}
  Ending(Error error) : exit(Exit::error), errors(std::move(error)) {}
  Ending(Errors all, Exit reached = Exit::error) : exit(reached), errors(std::move(all)) {}
  bool ok() const { return exit == Exit::ok; }

  Exit exit;
  Errors errors;
};

// Whom a verb talks to: a terminal, a file, a test.
class Console {
 public:
  virtual ~Console() = default;

  virtual void print(const std::string& text) = 0;       // the answer
  virtual void note(const std::string& text) = 0;        // what is said beside it
  virtual void complain(const Errors& errors) = 0;       // goes on all the same
  virtual void progress(const std::string& /*line*/) {}  // over the one before; "": gone

  virtual bool can_ask() const { return false; }
  virtual bool confirm(const std::string& question) = 0;  // no, where nobody can be asked

  struct Size {
    std::size_t columns = 80;
    std::size_t lines = 24;
  };
  // Of a picture that is drawn over itself; none: there is no place for one.
  virtual std::optional<Size> canvas() const { return std::nullopt; }
  virtual void draw(const std::string& /*picture*/) {}  // "": gone; what is printed comes above it
};

}  // namespace orch::app
