#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/record/published/doubts.h"
#include "core/record/published/flops.h"

namespace orch::published {

// All rows and what was found in them so far. Each check adds to it.
struct Inquiry {
  const std::vector<record::Record>& rows;
  std::vector<std::optional<GpuFacts>> gpus;  // of each row
  Peers peers;
  std::vector<std::vector<record::Doubt>> found;

  // Once for each kind and field: one witness is enough.
  void add(std::size_t row, std::string kind, std::string field, std::string reason);
};

// Cells of one row against each other.
void doubt_layout(Inquiry& inquiry, std::size_t row);  // topology, batch
void doubt_rates(Inquiry& inquiry, std::size_t row);   // throughput, over_peak, tflops, swapped
void doubt_memory(Inquiry& inquiry, std::size_t row);  // memory

void doubt_sizes(Inquiry& inquiry);  // size: beside those of its source

// Whether the stated size is what layers, width and vocabulary of a GPT come to, by any way to
// count parameters.
bool has_usual_size(const record::Record& row);

}  // namespace orch::published
