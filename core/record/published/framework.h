#pragma once

#include <string>
#include <utility>
#include <vector>

#include "core/plan/cluster.h"
#include "core/plan/strategy.h"
#include "core/record/record.h"

namespace orch::published {

// A row's framework in our words, with every setting that the row gives or that the framework had
// by habit.
struct Way {
  std::string strategy;
  std::vector<std::pair<std::string, plan::Value>> settings;
};

// The rules that fill in what tables leave out are all in framework.cpp. What a rule decided is
// added to assumed.
Result<Way> way_of(const record::Record& row, const plan::Gpu& gpu,
                   std::vector<std::string>& assumed);

// The settings in the order of the strategy's parameters, its defaults filled in. A setting that
// the strategy does not have is an error, unless it is what happens without it.
Result<std::vector<plan::Value>> settings_of(const Way& way, const plan::Strategy& strategy);

bool is_megatron(const record::Record& row);  // or a relative of it

// Which of our strategies the row's framework is; "" if none.
std::string strategy_of(const record::Record& row);

// Whether the run computes activations again ("full", "selective" or "none"), by cell or habit.
std::string recompute_of(const record::Record& row);

// The stack that a row ran with: as it says, or of those that are known by its framework's name the
// one nearest to its date, the newest where there is none. "": none is known by it.
std::string stack_of(const record::Record& row, const plan::Partition& partition);

}  // namespace orch::published
