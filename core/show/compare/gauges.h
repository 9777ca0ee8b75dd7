#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/show/compare/compare.h"
#include "core/show/compare/size.h"

namespace orch::compare {

// A metric, and how a record has it. Values are positive and finite.
struct Gauge {
  using Read = std::function<std::optional<statistics::Interval>(const record::Record&)>;
  Metric metric;
  Read measured, estimated;
};

// Days per 100B tokens, tokens per second, GPU-hours per 1e9 tokens, seconds per step: brought to
// the same size where the sizing has one, a step also to the first group's tokens.
std::vector<Gauge> time_gauges(const Sizing& sizing, std::optional<double> base_tokens);

inline constexpr std::string_view kUnsaidConvention = "convention not said";

// The conventions by which records say TFLOPs. What a log prints is of its framework's making.
std::vector<std::string> conventions(const std::vector<Cohort>& groups);
Gauge tflops_gauge(const std::string& convention);

// FLOPs of the model over the time that it took: where what was stated does not compare.
Gauge model_tflops_gauge(Flops by);

Gauge memory_gauge();

// Every other quantity that people look at, as the list of them has it.
std::vector<Gauge> other_gauges();

}  // namespace orch::compare
