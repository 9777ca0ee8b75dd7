#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/record/published/doubts.h"
#include "core/record/published/flops.h"

namespace orch::published {

// All rows and the doubts found so far. Each check adds to them.
struct RowChecks {
  const std::vector<record::Record>& rows;
  std::vector<std::optional<GpuFacts>> gpus;  // one per row
  PeerRows peers;
  std::vector<std::vector<record::Doubt>> found;

  // At most one doubt per kind and field.
  void add(std::size_t row, std::string kind, std::string field, std::string reason);
};

// Checks of the cells of one row against each other.
void doubt_layout(RowChecks& inquiry, std::size_t row);  // topology, batch
void doubt_rates(RowChecks& inquiry, std::size_t row);   // throughput, over_peak, tflops, swapped
void doubt_memory(RowChecks& inquiry, std::size_t row);  // memory

void doubt_sizes(RowChecks& inquiry);  // size: compared with the others of its source

// True if the stated size equals that of a GPT with these layers, width and vocabulary, by any way
// of counting parameters.
bool has_usual_size(const record::Record& row);

}  // namespace orch::published
