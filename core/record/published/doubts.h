#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "core/record/record.h"

namespace orch::published {

// The datasheet peak of a GPU in TFLOPs at a dtype, and its memory in GiB; nothing: unknown.
struct GpuFacts {
  double peak_tflops = 0;
  double memory_gib = 0;
};
using FindGpu = std::function<std::optional<GpuFacts>(const record::Record&)>;

// Finds what cannot be true in each row; returns one list per row. Uses only arithmetic, the row
// itself and
// the sizes of its source; suspect and notes are ignored, and missing cells are never doubtful.
// The kinds:
//   topology    ranks, nodes, heads or stages whose products or quotients do not fit
//   batch       micro-batch x micro-batches x ranks is another batch
//   over_peak   TFLOPs, as stated or as computed, above the GPU's peak
//   tflops      TFLOPs that do not follow from time and size
//   swapped     time and TFLOPs in each other's column
//   throughput  time, samples per second and days that contradict each other
//   size        parameters that do not follow from layers and width
//   memory      more than the GPU has, or less than is needed
// If `gpu` is empty, no GPU is known.
std::vector<std::vector<record::Doubt>> doubts(const std::vector<record::Record>& rows,
                                               const FindGpu& gpu);

}  // namespace orch::published
