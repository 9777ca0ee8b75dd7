#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/plan/experiment.h"
#include "core/record/record.h"

namespace orch::app {

// A run held against what was expected of it.
struct Judgement {
  std::string run;
  plan::Expectation expected;
  std::optional<double> measured;  // nothing: it is not known
  std::string why;                 // it fell short; empty: it did not
};

// A measured quantity of a record by its name, as record::quantities() has it.
std::optional<double> measured_quantity(const record::Record& record, const std::string& quantity);

// Every run that somebody has started, against each expectation that is for it. One that failed,
// goes on, or does not say the quantity has fallen short. An error where a `where` chooses nothing.
Result<std::vector<Judgement>> judge_expected(const std::vector<record::Record>& records,
                                              const std::vector<plan::Expectation>& expected);

}  // namespace orch::app
