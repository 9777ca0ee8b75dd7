#pragma once

#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "core/app/app.h"
#include "tests/place.h"
#include "tests/trainers/draw.h"

namespace orch::test {

// Plans experiments like `orch plan`, on a machine like `local` with more ranks.
class Planner {
 public:
  Planner();

  // run.json; nothing if orch refuses it.
  std::optional<nlohmann::ordered_json> plan(const std::string& lua);

 private:
  TestFolder place_;
  std::unique_ptr<app::App> app_;
};

// The distance between two trainings, relative to the expected values: 0 means bitwise equal.
struct Distances {
  double loss = 0, evaluation = 0, norm = 0, weights = 0, states = 0;
};

struct DrawnOutcome {
  int drawn = 0, refused = 0;  // layouts
  bool is_exported = false;
  Distances single;   // the first layout compared with one process
  Distances resumed;  // the second, continuing from the first one's checkpoint, against the first
};

// A training in two layouts, and in one process.
class DrawnCase {
 public:
  // planner must outlive it. Everything follows from the seed and the number.
  DrawnCase(Planner& planner, std::uint64_t seed, int number);

  void run();  // throws with a description of the failure
  const DrawnOutcome& outcome() const { return outcome_; }
  bool is_exact() const { return asked_.is_exact(); }
  std::string row() const;    // of the table
  std::string files() const;  // the experiments

 private:
  // run.json of the first layout that orch plans.
  nlohmann::ordered_json draw_until_possible(const std::function<DrawnLayout()>& draw);

  Planner& planner_;
  Draw draw_;
  DrawnTraining asked_;
  std::vector<DrawnLayout> layouts_;  // one process, the first and the second
  DrawnOutcome outcome_;
};

}  // namespace orch::test
