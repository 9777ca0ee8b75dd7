#pragma once

#include <catch2/catch_test_macros.hpp>
#include <string>
#include <vector>

#include "core/price/backend/backend.h"
#include "core/plan/hardware/hardware.h"
#include "core/record/published/samples.h"

// Rows on the shipped clusters with the built-in backends.
namespace orch::published::test {

inline const backend::Backends& built_in() {
  static const auto loaded = backend::Backends::load({fs::path(ORCH_BINARY_DIR) / "plugins"});
  REQUIRE(loaded);
  return *loaded;
}

inline Samples samples(const std::vector<Row>& rows, const std::string& otherwise = "") {
  static hardware::Catalog catalog({fs::path(ORCH_SOURCE_DIR) / "experiments/clusters"},
                                   {fs::path(ORCH_SOURCE_DIR) / "experiments/gpus.yaml"});
  const Machines machines{[](std::string_view name) { return catalog.find(name); }, catalog.names(),
                          otherwise};
  return to_samples(rows, machines, built_in().strategies(),
                    [](const plan::Run& run, auto& reasons, auto& warnings) {
                      built_in().of(*run.strategy).check(run, reasons, warnings);
                    });
}

// A row that is whole: the published 72 x 14336 on 384 A100.
inline Row row() {
  Row row;
  row.id = "r1";
  row.source = "s";
  row.table = "t";
  row.date = "2022-02-25";
  row.site = "jean-zay";
  row.gpu = "a100-80g";
  row.gpus = 384;
  row.nodes = 48;
  row.gpus_per_node = 8;
  row.framework = "megatron-deepspeed";
  row.layers = 72;
  row.hidden = 14336;
  row.heads = 64;
  row.vocab = 250000;
  row.seq = 2048;
  row.params_b = 181;
  row.tp = 4;
  row.pp = 6;
  row.dp = 16;
  row.mbs = 4;
  row.gas = 32;
  row.gbs = 2048;
  row.zero_stage = 1;
  row.act_ckpt = "true";
  row.dtype = "fp16";
  row.step_time_s = 117.11;
  row.tflops_per_gpu = 137.66;
  row.tflops_formula = "megatron-improved";
  row.mem_gb = 75;
  row.status = "ok";
  return row;
}

inline Sample one(const Row& row, const std::string& otherwise = "") {
  auto made = samples({row}, otherwise);
  if (!made.skipped.empty()) FAIL(made.skipped.front().reason);
  REQUIRE(made.samples.size() == 1);
  return std::move(made.samples.front());
}

inline std::string reason(const Row& row, const std::string& otherwise = "") {
  const auto made = samples({row}, otherwise);
  REQUIRE(made.samples.empty());
  REQUIRE(made.skipped.size() == 1);
  CHECK(made.skipped.front().id == row.id);
  return made.skipped.front().reason;
}

inline bool has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

inline bool assumes(const Sample& sample, std::string_view part) {
  for (const auto& assumed : sample.assumed)
    if (has(assumed, part)) return true;
  return false;
}

}  // namespace orch::published::test
