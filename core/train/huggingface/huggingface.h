#pragma once

#include <cstdint>
#include <string>

#include "core/base/files.h"
#include "core/base/result.h"
#include "core/train/checkpoint/checkpoint.h"
#include "core/train/huggingface/model.h"

namespace orch::huggingface {

struct ExportOptions {
  checkpoint::TensorDtype dtype = checkpoint::TensorDtype::f32;
  std::uint64_t file_bytes = 5'000'000'000;  // larger models are split into several files
  std::string architecture;                  // config.json's model_type; empty: the first that fits
};

struct Exported {
  plan::Model model;
  std::string class_name;  // the class in transformers
  std::int64_t step = 0;
  std::uint64_t bytes = 0;  // of all tensors
  std::size_t files = 0;
};

// Exports a checkpoint's weights as a folder that transformers' AutoModelForCausalLM loads:
// config.json and safetensors. The folder must be new or empty; it appears complete or not at all.
// Holds one tensor in memory at a time.
Result<Exported> export_model(const checkpoint::CheckpointReader& from, const fs::path& folder,
                              const ExportOptions& options = {});

struct Imported {
  plan::Model model;
  fs::path checkpoint;
  std::uint64_t bytes = 0;
};

// The reverse: creates a checkpoint of step 0 with weights only, below a folder that is new or
// empty. Refuses models that compute something else than ours. Holds a limited number of bytes in
// memory.
Result<Imported> import_model(const fs::path& from, const fs::path& folder,
                              std::uint64_t share_bytes = 4'000'000'000);

}  // namespace orch::huggingface
