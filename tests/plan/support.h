#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/plan/expand.h"
#include "core/plan/family.h"
#include "core/plan/run.h"

// A small cluster and experiments on it, made by hand.
namespace orch::plan::test {

inline std::shared_ptr<const Cluster> cluster() {
  auto made = std::make_shared<Cluster>();
  made->name = "toy";
  made->launch = "slurm";
  auto& partition = made->partitions.emplace_back();
  partition.name = "a100";
  partition.gpus_per_node = 8;
  partition.nodes = 52;
  partition.gpu.name = "a100-80g";
  partition.gpu.peaks["fp32"].value = 19.5e12;
  partition.gpu.peaks["fp16"].value = 312e12;
  partition.gpu.peaks["bf16"].value = 312e12;
  partition.slurm.account = "site";
  partition.slurm.time = "20:00:00";
  return made;
}

inline StrategyPtr strategy() {
  Strategy made;
  made.name = "megatron";
  made.backend = "megatron";
  const auto integer = [](std::string name, std::int64_t value) {
    Param param;
    param.name = std::move(name);
    param.type = ParamType::integer;
    param.default_value = value;
    param.min = 1;
    param.max = 1e6;
    return param;
  };
  made.params = {integer("tensor_parallel", 1), integer("pipeline_parallel", 1)};
  Param compression;
  compression.name = "compression";
  compression.type = ParamType::choice;
  compression.choices = {"none", "powersgd"};
  compression.default_value = std::string("none");
  made.params.push_back(compression);
  auto rank = integer("powersgd_rank", 1);
  rank.parent = "compression";
  rank.choice = "powersgd";
  made.params.push_back(rank);
  return std::make_shared<const Strategy>(made);
}

// {"gpus", {384}}: one point per value.
inline SweepAxis axis(const std::string& field, std::vector<Value> values) {
  SweepAxis made{{field}, {}};
  for (auto& value : values) made.points.push_back({std::move(value)});
  return made;
}

inline Experiment experiment() {
  Experiment made;
  made.name = "toy";
  made.file = "toy.lua";
  AskedModel model;
  model.name = "m";
  model.space.axes = {axis("family", {std::string("gpt")}),  axis("layers", {std::int64_t{80}}),
                      axis("hidden", {std::int64_t{14336}}), axis("heads", {std::int64_t{112}}),
                      axis("vocab", {std::int64_t{50257}}),  axis("seq", {std::int64_t{2048}})};
  made.models.push_back(model);
  made.hardware.axes = {axis("cluster", {std::string("toy")}), axis("gpus", {std::int64_t{384}})};
  made.strategies.push_back({strategy(), {}, "strategies[1]", {}, {}, {}, {}, {}});
  return made;
}

inline Plan expand(const Experiment& experiment) {
  const auto found = cluster();
  auto plan = plan::expand(
      experiment, [&](std::string_view) { return Result<std::shared_ptr<const Cluster>>(found); },
      [](const Run&, std::vector<Error>&, std::vector<Error>&) {});
  if (!plan) throw std::runtime_error(text(plan.error()));
  return std::move(*plan);
}

// A run that passes every check, to be modified.
inline Run run() {
  Run made;
  made.experiment = "toy";
  made.strategy = strategy();
  made.settings = {std::int64_t{8}, std::int64_t{12}, std::string("none"), std::int64_t{1}};
  made.model = plan::sized("gpt", "m", 80, 14336, 112, 50257, 2048);
  made.cluster = cluster();
  made.partition = &made.cluster->partitions.front();
  made.gpus = 384;
  made.nodes = 48;
  made.layout = {8, 12, 4};
  made.batch = {2, 256, 2048, {}};
  made.tokens = 300e9;
  return made;
}

}  // namespace orch::plan::test
