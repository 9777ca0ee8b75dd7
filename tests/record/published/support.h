#pragma once

#include "core/base/files.h"
#include "core/plan/hardware/hardware.h"
#include "core/price/backend/backend.h"
#include "core/record/published/samples.h"
#include "tests/record/published/cell.h"
#include "tests/test.h"
#include "tests/text.h"

// Rows on the shipped clusters with the built-in backends.
namespace orch::published::test {

inline const std::vector<std::string> kSources{"bench-1b3", "bloom-prequel", "bloom7b-days",
                                               "gpt2-jz-v100", "pp-perlmutter"};

inline std::string shipped(const std::string& file) {
  const auto text = read_file(fs::path(ORCH_SOURCE_DIR) / "experiments/measured" / file);
  REQUIRE(text);
  return *text;
}

inline const backend::Backends& built_in() {
  static const auto loaded = backend::Backends::load({fs::path(ORCH_BINARY_DIR) / "plugins"});
  REQUIRE(loaded);
  return *loaded;
}

inline PublishedSamples samples(const std::vector<Record>& rows,
                                const std::string& otherwise = "") {
  static hardware::Catalog catalog({fs::path(ORCH_SOURCE_DIR) / "experiments/clusters"},
                                   {fs::path(ORCH_SOURCE_DIR) / "experiments/gpus.yaml"},
                                   {fs::path(ORCH_SOURCE_DIR) / "experiments/stacks.yaml"});
  const SampleMachines machines{[](std::string_view name) { return catalog.find(name); },
                                catalog.names(), otherwise};
  return to_samples(rows, machines, built_in().strategies(),
                    [](const plan::Run& run, auto& reasons, auto& warnings) {
                      built_in().of(*run.strategy).check(run, reasons, warnings);
                    });
}

// A complete row: the published 72 x 14336 on 384 A100.
inline Record row() {
  Record row;
  row.id = "r1";
  row.source = "s";
  row.table = "t";
  row.origin.date = "2022-02-25";
  cell(row, "site") = "jean-zay";
  cell(row, "gpu") = "a100-80g";
  cell(row, "gpus") = 384;
  cell(row, "nodes") = 48;
  cell(row, "gpus_per_node") = 8;
  cell(row, "framework") = "megatron-deepspeed";
  cell(row, "layers") = 72;
  cell(row, "hidden") = 14336;
  cell(row, "heads") = 64;
  cell(row, "vocab") = 250000;
  cell(row, "seq") = 2048;
  cell(row, "params_b") = 181;
  cell(row, "tp") = 4;
  cell(row, "pp") = 6;
  cell(row, "dp") = 16;
  cell(row, "mbs") = 4;
  cell(row, "gas") = 32;
  cell(row, "gbs") = 2048;
  cell(row, "zero_stage") = 1;
  cell(row, "act_ckpt") = "true";
  cell(row, "dtype") = "fp16";
  cell(row, "step_time_s") = 117.11;
  cell(row, "tflops_per_gpu") = 137.66;
  cell(row, "tflops_formula") = "megatron-improved";
  cell(row, "mem_gb") = 75;
  cell(row, "status") = "ok";
  return row;
}

// Data parallelism only, one sample per GPU.
inline void lay_flat(Record& record) {
  cell(record, "tp") = cell(record, "pp") = 1;
  cell(record, "dp") = 384;
  cell(record, "mbs") = 1;
  cell(record, "gas") = 1;
  cell(record, "gbs") = 384;
}

inline PublishedSample one(const Record& row, const std::string& otherwise = "") {
  auto made = samples({row}, otherwise);
  if (!made.skipped.empty()) FAIL(made.skipped.front().reason);
  REQUIRE(made.samples.size() == 1);
  return std::move(made.samples.front());
}

inline std::string reason(const Record& row, const std::string& otherwise = "") {
  const auto made = samples({row}, otherwise);
  REQUIRE(made.samples.empty());
  REQUIRE(made.skipped.size() == 1);
  CHECK(made.skipped.front().id == row.id);
  return made.skipped.front().reason;
}

inline bool assumes(const PublishedSample& sample, std::string_view part) {
  for (const auto& assumed : sample.assumed)
    if (has(assumed, part)) return true;
  return false;
}

}  // namespace orch::published::test
