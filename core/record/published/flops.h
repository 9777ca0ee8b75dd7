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

// GPT-2's vocabulary, for rows that name none.
inline constexpr std::int64_t kUsualVocab = 50257;
inline constexpr std::int64_t kUsualSeq = 2048;

// The vocabulary as Megatron pads it: to a multiple of 128 x tensor_parallel.
std::int64_t padded_vocab(std::int64_t vocab, std::int64_t tensor_parallel);

// The width of a model of which FLOPs per sample are known by the megatron convention: the positive
// root of 24 k s L h^2 (1 + s/6h + V/16Lh) = flops, k being 4 with recomputation and 3 without.
double solve_hidden(double flops_per_sample, std::int64_t layers, std::int64_t vocab,
                    std::int64_t seq, bool recompute);

// A number of heads that tensor_parallel divides, with a head_dim that is a multiple of 8 and as
// near to 128 as there is one. Nothing if hidden does not divide so.
std::optional<std::int64_t> usual_heads(std::int64_t hidden, std::int64_t tensor_parallel);

// Near a solved width (within half a percent), the multiple of 8 x tensor_parallel that has the
// most usual heads.
std::int64_t usual_hidden(double solved, std::int64_t tensor_parallel);

// What "simple" FLOPs count as parameters.
enum class Counted { stated, all, without_embeddings };

// What the rows of a source or table know together where one of them alone does not.
class Peers {
 public:
  enum class Of { all, trusted };  // trusted: those that their tables do not mark as suspect
  explicit Peers(const std::vector<record::Record>& rows, Of of = Of::trusted);

  // The formula that a row's TFLOPs are by: its own, or the one that its source uses most.
  std::string formula(const record::Record& row) const;
  // Which parameters the source counts: what agrees best with rows that have a time as well.
  Counted counted(const record::Record& row) const;
  // The width that the rows of a table come to which leave it out; the median of theirs.
  std::optional<double> hidden(const record::Record& row) const;
  // Whether models of that width have a tied head, by the first row of the source that says so.
  std::optional<bool> tied(const record::Record& row) const;

 private:
  using Names = std::pair<std::string, std::string>;
  std::map<std::string, std::string> formulas_;
  std::map<Names, Counted> counted_;
  std::map<Names, double> hidden_;
  std::map<std::pair<std::string, std::int64_t>, bool> tied_;
};

// FLOPs of one step by a formula of the tables: simple8, simple6, or one whose name begins with
// "megatron". Nothing for another name.
std::optional<double> formula_flops(const std::string& formula, const plan::Model& model,
                                    double stated_params, Counted counted, double global_batch,
                                    bool recompute);

// A way to count the FLOPs of a row's model.
struct Convention {
  std::string formula;  // megatron, simple8, simple6
  Counted counted = Counted::all;
  bool recompute = false;
  double flops = 0;  // of one sample

  std::string words() const;  // "simple8, parameters without embeddings"
};

// How fast a row was, by one of its cells.
struct Rate {
  double samples_per_second = 0;
  double rounding = 0;  // the share by which the printed digits leave it open
  std::string field;
  std::string words;  // "58.72 s for 64 samples"
};

// Half a unit of the last digit that a number is printed with, as a share of it: 0.0027 of 184.
double rounding(double value);

// Samples in a step, as said or as micro-batch x micro-batches x data-parallel ranks.
std::optional<double> batch_of(const record::Record& row);

// Every cell that says how fast a row was; time or samples first, days last.
std::vector<Rate> rates(const record::Record& row);
// Of the first of them: the time of a step, where the batch is known.
std::optional<double> step_seconds(const record::Record& row);

// All ways to count that a row's cells allow.
std::vector<Convention> conventions(const record::Record& row);
// Those of them that its TFLOPs are by: several where the row leaves recomputation open, none where
// the formula is not one of ours.
std::vector<Convention> own_conventions(const record::Record& row, const Peers& peers);

// TFLOPs of one GPU.
double tflops(const Convention& convention, const Rate& rate, double gpus);

}  // namespace orch::published
