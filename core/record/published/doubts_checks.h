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
  bool has(std::size_t row, const std::string& kind) const;
  std::string name(std::size_t row) const;  // its id, printable
};

// Cells of one row against each other.
void doubt_layout(Inquiry& inquiry, std::size_t row);  // topology, batch
void doubt_rates(Inquiry& inquiry, std::size_t row);   // throughput, over_peak, tflops, swapped
void doubt_memory(Inquiry& inquiry, std::size_t row);  // memory

// Rows against each other, those that are reprints aside.
void doubt_sizes(Inquiry& inquiry);        // size
void doubt_formulas(Inquiry& inquiry);     // tflops: counted otherwise than its neighbours
void doubt_swaps(Inquiry& inquiry);        // swapped
void doubt_repeats(Inquiry& inquiry);      // repeat
void doubt_batches(Inquiry& inquiry);      // scaling: of batch and micro-batch
void doubt_peer_memory(Inquiry& inquiry);  // memory, scaling: what ran, and what did not

// Whether the stated size is what layers, width and vocabulary of a GPT come to, by any way to
// count parameters.
bool has_usual_size(const record::Record& row);

// Rows of one source that have the same configuration but for some columns; rows that do not say
// enough to be sure are in none. Sets of one row are left out.
inline const std::vector<std::string> kBatch{"mbs", "gas", "gbs", "pp_chunks", "grad_accum"};
std::vector<std::vector<std::size_t>> alike(const Inquiry& inquiry,
                                            const std::vector<std::string>& but_for);

}  // namespace orch::published
