#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/plan/model.h"
#include "core/record/record.h"

namespace orch::published {

// GPT-2's vocabulary, for rows without one.
inline constexpr std::int64_t kUsualVocab = 50257;
inline constexpr std::int64_t kUsualSeq = 2048;

// The vocabulary padded as in Megatron: to a multiple of 128 x tensor_parallel.
std::int64_t padded_vocab(std::int64_t vocab, std::int64_t tensor_parallel);

// The width of a model with known FLOPs per sample by the megatron convention: the positive root of
// 24 k s L h^2 (1 + s/6h + V/16Lh) = flops, with k = 4 with recomputation and 3 without.
double solve_hidden(double flops_per_sample, std::int64_t layers, std::int64_t vocab,
                    std::int64_t seq, bool recompute);

// A number of heads that tensor_parallel divides, with a head_dim that is a multiple of 8 and as
// near to 128 as possible. Nothing if hidden has no such divisor.
std::optional<std::int64_t> usual_heads(std::int64_t hidden, std::int64_t tensor_parallel);

// The multiple of 8 x tensor_parallel near a solved width (within half a percent) whose head_dim is
// nearest to usual.
std::int64_t usual_hidden(double solved, std::int64_t tensor_parallel);

// Which parameters "simple" FLOPs count.
enum class CountedParameters { stated, all, without_embeddings };

// Facts that the rows of a source or table show together, though a single row does not.
class PeerRows {
 public:
  enum class RowChoice {
    all,
    trusted
  };  // trusted: only those that their tables do not mark as suspect
  explicit PeerRows(const std::vector<record::Record>& rows, RowChoice of = RowChoice::trusted);

  // The formula of a row's TFLOPs: its own, or the one that its source uses most.
  std::string formula(const record::Record& row) const;
  // Which parameters the source counts: the way that agrees best with rows that also have a time.
  CountedParameters counted(const record::Record& row) const;
  // The median of the widths computed for those rows of a table that give none.
  std::optional<double> hidden(const record::Record& row) const;
  // True if models of that width have a tied head, by the first row of the source that states it.
  std::optional<bool> tied(const record::Record& row) const;

 private:
  using Names = std::pair<std::string, std::string>;
  std::map<std::string, std::string> formulas_;
  std::map<Names, CountedParameters> counted_;
  std::map<Names, double> hidden_;
  std::map<std::pair<std::string, std::int64_t>, bool> tied_;
};

// FLOPs of one step by a formula named in tables: simple8, simple6, or one whose name begins with
// "megatron". Nothing for another name.
std::optional<double> formula_flops(const std::string& formula, const plan::Model& model,
                                    double stated_params, CountedParameters counted,
                                    double global_batch, bool recompute);

// A convention for counting the FLOPs of a row's model.
struct Convention {
  std::string formula;  // megatron, simple8, simple6
  CountedParameters counted = CountedParameters::all;
  bool recompute = false;
  double flops = 0;  // per sample

  std::string words() const;  // "simple8, parameters without embeddings"
};

// The speed of a row, by one of its cells.
struct RowSpeed {
  double samples_per_second = 0;
  double rounding = 0;  // relative uncertainty from the number of printed digits
  std::string field;
  std::string words;  // "58.72 s for 64 samples"
};

// Half a unit of the last printed digit, relative to the number: 0.0027 for 184.
double rounding(double value);

// Samples per step, as stated or as micro-batch x micro-batches x data-parallel ranks.
std::optional<double> batch_of(const record::Record& row);

// Every cell that gives a row's speed; time or samples first, days last.
std::vector<RowSpeed> rates(const record::Record& row);
// The time of a step by the first of them, if the batch is known.
std::optional<double> step_seconds(const record::Record& row);

// All conventions for which a row has the needed cells.
std::vector<Convention> conventions(const record::Record& row);
// Those of them that its TFLOPs may use: several if the row does not state recomputation, none if
// the formula is unknown to us.
std::vector<Convention> own_conventions(const record::Record& row, const PeerRows& peers);

// TFLOPs per GPU.
double tflops(const Convention& convention, const RowSpeed& rate, double gpus);

}  // namespace orch::published
