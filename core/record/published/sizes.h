#pragma once

#include <string>
#include <vector>

#include "core/plan/run.h"
#include "core/record/published/flops.h"
#include "core/record/record.h"

namespace orch::published {

// The sizes that every row states or that were computed for it.
struct PublishedSizes {
  std::int64_t layers = 0, hidden = 0, heads = 1, vocab = 0, seq = 0;
};

// A row's model, of the family that it names or that its sizes imply. An MLP that is not four times
// as wide as the model is a gated one (llama); fewer key-value heads with a plain MLP imply
// nemotron. mpt and nemotron have no biases. Guesses are added to assumed.
plan::Model shaped(const record::Record& row, const PublishedSizes& sizes,
                   std::vector<std::string>& assumed);
plan::Model shaped(const record::Record& row, const PublishedSizes& sizes);

// Layers and width of a model of which only the number of parameters is known: 128 times as wide as
// it has layers, which is right for GPT-3's 175B and within a half for GPT-2's and BLOOM's sizes;
// in steps of 128 x tp and of pp.
PublishedSizes usual_sizes(double params, std::int64_t vocab, std::int64_t tp, std::int64_t pp);

// A row's model, layout and batch. Missing values are filled in from other cells, or from a habit;
// the latter is added to assumed. An error names what cannot be determined.
Result<plan::Model> model_of(const record::Record& row, const PeerRows& peers,
                             std::vector<std::string>& assumed);
Result<plan::Layout> layout_of(const record::Record& row, std::vector<std::string>& assumed);
Result<plan::Batch> batch_of(const record::Record& row, const plan::Layout& layout,
                             std::vector<std::string>& assumed);

}  // namespace orch::published
