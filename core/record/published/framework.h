#pragma once

#include <string>
#include <utility>
#include <vector>

#include "core/plan/cluster.h"
#include "core/plan/strategy.h"
#include "core/record/record.h"

namespace orch::published {

// A row's framework as one of our strategies, with every setting that the row states or that the
// framework used by default.
struct FrameworkWay {
  std::string strategy;
  std::vector<std::pair<std::string, plan::Value>> settings;
};

// All rules that fill in what tables omit are in framework.cpp. What a rule decided is added to
// assumed.
Result<FrameworkWay> way_of(const record::Record& row, const plan::Gpu& gpu,
                            std::vector<std::string>& assumed);

// The settings in the order of the strategy's parameters, with its defaults. A setting that the
// strategy does not have is an error, unless its value is what happens without it.
Result<std::vector<plan::Value>> settings_of(const FrameworkWay& way,
                                             const plan::Strategy& strategy);

bool is_megatron(const record::Record& row);  // or derived from it

// The strategy that corresponds to the row's framework; "" if none.
std::string strategy_of(const record::Record& row);

// The recomputation of activations ("full", "selective" or "none"), as stated or by default.
std::string recompute_of(const record::Record& row);

// The stack of a row: as stated, or among the known stacks of its framework the nearest in date;
// without a date the newest. "": none is known.
std::string stack_of(const record::Record& row, const plan::Partition& partition);

}  // namespace orch::published
