#pragma once

#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "core/base/result.h"
#include "core/plan/value.h"

namespace orch::render {

// What a template read from a command line that people already have: the fields of an experiment.
// A field that is missing was not there.
struct LaunchReading {
  using Fields = std::map<std::string, plan::Value>;

  std::string framework;  // "megatron-lm@0.12"; empty: only the estimate is possible
  std::string strategy;
  std::string family;  // of the model
  std::string preset;  // or its name: "Llama-2-7b-hf"
  Fields model, batch, rampup, settings, training;
  double tokens = 0;              // 0: unknown
  std::vector<std::string> args;  // arguments of the framework that no field decides
  std::vector<std::string> assumed;
  std::vector<std::string> ignored;  // flags that were not understood
  std::size_t without_effect = 0;    // number of flags that do not change an estimate
  Errors problems;                   // values that cannot be read
};

// Opens a file that a command line names.
using OpenNamedFile = std::function<Result<std::string>(const std::string& name)>;

}  // namespace orch::render
