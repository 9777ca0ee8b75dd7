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

}  // namespace orch::published
