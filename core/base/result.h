#pragma once

#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace orch {

// A problem that a user can fix: where it is, what the fact is, and what to do next.
struct Error {
  std::string place;
  std::string fact;
  std::string fix;  // may be empty

  // "place: fact\n  fix", without the parts that are empty; a very long part is cut.
  std::string text() const;
  bool operator==(const Error&) const = default;
};

// The texts of several errors, one per line.
std::string text(const std::vector<Error>& errors);

// Several problems at once; a single Error converts to it.
struct Errors : std::vector<Error> {
  using std::vector<Error>::vector;
  Errors() = default;
  Errors(Error error) { push_back(std::move(error)); }

  // Adds the errors of a Result or a Status; true if there were none.
  template <class Outcome>
  bool add(const Outcome& outcome) {
    if (!outcome) insert(end(), outcome.error().begin(), outcome.error().end());
    return static_cast<bool>(outcome);
  }
};

// A value or the errors that prevented it; shaped like C++23 std::expected.
template <class T>
class Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  Result(Error error) : state_(std::in_place_index<1>, Errors(std::move(error))) {}
  Result(Errors errors) : state_(std::in_place_index<1>, std::move(errors)) {}

  bool has_value() const { return state_.index() == 0; }
  explicit operator bool() const { return has_value(); }
  T& operator*() { return std::get<0>(state_); }
  const T& operator*() const { return std::get<0>(state_); }
  T* operator->() { return &std::get<0>(state_); }
  const T* operator->() const { return &std::get<0>(state_); }
  const Errors& error() const { return std::get<1>(state_); }

 private:
  std::variant<T, Errors> state_;
};

// Success, or errors: the Result of a function that only does something.
class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(Error error) : errors_(std::move(error)) {}
  Status(Errors errors) : errors_(std::move(errors)) {}

  explicit operator bool() const { return errors_.empty(); }
  const Errors& error() const { return errors_; }

 private:
  Errors errors_;
};

[[noreturn]] void check_failed(const char* condition, const char* message, const char* file,
                               int line);

}  // namespace orch

// A condition that only a programmer can have broken.
#define ORCH_CHECK(condition, message) \
  ((condition) ? void(0) : ::orch::check_failed(#condition, message, __FILE__, __LINE__))
