#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "core/record/record.h"

namespace orch::published {

// The datasheet peak of a GPU in TFLOPs at a dtype, and its memory in GiB; nothing: not known.
struct GpuFacts {
  double peak_tflops = 0;
  double memory_gib = 0;
};
using FindGpu = std::function<std::optional<GpuFacts>(const record::Record&)>;

// What in each row cannot be true: as many lists as rows. Only what follows from arithmetic and
// from the row itself, beside the sizes of its source; suspect and notes are not looked at, and
// what a row leaves out is never doubtful. The kinds:
//   topology    ranks, nodes, heads or stages that do not come out
//   batch       micro-batch x micro-batches x ranks is another batch
//   over_peak   TFLOPs, as said or as computed, above what the GPU can do
//   tflops      TFLOPs that do not follow from time and size
//   swapped     time and TFLOPs in each other's column
//   throughput  time, samples per second and days that contradict each other
//   size        parameters that are not those of layers and width
//   memory      more than there is, less than is kept
// No GPU is known where gpu is empty.
std::vector<std::vector<record::Doubt>> doubts(const std::vector<record::Record>& rows,
                                               const FindGpu& gpu);

}  // namespace orch::published
