#pragma once

#include <optional>
#include <string>

namespace orch::plan {

// What a run should reach, by the name of a measured quantity, and how far from it is well enough.
struct Expectation {
  std::string quantity;
  double value = 0;
  std::optional<double> below, above;  // shares of the value; nothing: any distance
  std::string where;                   // the runs that it is for: "strategy=ddp,gpus=8"; empty: all

  double least() const { return below ? value * (1 - *below) : 0; }
  std::optional<double> most() const {
    return above ? std::optional(value * (1 + *above)) : std::nullopt;
  }
  bool operator==(const Expectation&) const = default;
};

}  // namespace orch::plan
