#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/base/result.h"

namespace orch::train {

// Reads the fields of one JSON object, and notes every problem instead of stopping at the first.
// What cannot be read stays as it was.
class JsonFields {
 public:
  using Json = nlohmann::json;
  // place: for messages, "run.json: " or "run.json: training.". All arguments outlive this.
  JsonFields(const Json& object, std::string place, Errors& errors)
      : object_(object), place_(std::move(place)), errors_(errors) {}

  // From here on, a field that is missing is a problem.
  JsonFields& required() { return required_ = true, *this; }

  void read(const std::string& key, std::int64_t& to, std::int64_t least, std::int64_t most);
  void read(const std::string& key, double& to, double least, double most);
  void read(const std::string& key, bool& to);
  void read(const std::string& key, std::string& to);
  // One of some words.
  void read(const std::string& key, std::string& to, const std::vector<std::string>& choices);
  // A section; null if there is none or it is null itself. One that is no object is a problem.
  const Json* section(const std::string& key);

  // Fields nobody has read: each is a problem, with a guess at what was meant.
  void reject_others() const;
  void problem(const std::string& key, std::string fact, std::string fix) const;

 private:
  const Json* find(const std::string& key);

  const Json& object_;
  std::string place_;
  Errors& errors_;
  bool required_ = false;
  std::set<std::string> known_;
};

}  // namespace orch::train
