#pragma once

#include <string>
#include <vector>

#include "core/plan/run.h"
#include "core/record/published/flops.h"
#include "core/record/record.h"

namespace orch::published {

// The sizes that every row says or that were found for it.
struct Sizes {
  std::int64_t layers = 0, hidden = 0, heads = 1, vocab = 0, seq = 0;
};

// A row's model: of the family that it names, or that its sizes show. An MLP that is not four times
// as wide as the model is a gated one (llama); fewer heads of keys and values with a plain MLP are
// nemotron's. Of mpt and nemotron nothing has a bias. What was guessed is added to assumed.
plan::Model shaped(const record::Record& row, const Sizes& sizes,
                   std::vector<std::string>& assumed);
plan::Model shaped(const record::Record& row, const Sizes& sizes);

// Layers and width of a model of which only the number of parameters is known: 128 times as wide as
// it has layers, as GPT-3's 175B is, and GPT-2's and BLOOM's sizes are within a half; in steps of
// 128 x tp and of pp.
Sizes usual_sizes(double params, std::int64_t vocab, std::int64_t tp, std::int64_t pp);

// A row's model, layout and batch, with what is missing filled in where other cells decide it or
// where there is a habit; the latter is added to assumed. An error says what cannot be known.
Result<plan::Model> model_of(const record::Record& row, const Peers& peers,
                             std::vector<std::string>& assumed);
Result<plan::Layout> layout_of(const record::Record& row, std::vector<std::string>& assumed);
Result<plan::Batch> batch_of(const record::Record& row, const plan::Layout& layout,
                             std::vector<std::string>& assumed);

}  // namespace orch::published
