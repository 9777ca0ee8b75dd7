#include "core/record/published/flops.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>

#include "core/base/multiples.h"
#include "core/record/published/framework.h"
#include "core/record/published/kind.h"
#include "core/record/statistics/interval.h"

namespace orch::published {
namespace {

bool is_megatron(const std::string& formula) { return formula.starts_with("megatron"); }

bool recomputes(const Row& row) { return recompute_of(row) == "full"; }

// Samples per second and GPU that the row says or implies.
std::optional<double> samples_per_second(const Row& row) {
  if (row.samples_per_s) return row.samples_per_s;
  if (row.step_time_s && row.gbs) return static_cast<double>(*row.gbs) / *row.step_time_s;
  return std::nullopt;
}

std::optional<double> solved_hidden(const Row& row, const std::string& formula) {
  const auto rate = samples_per_second(row);
  if (!row.layers || !row.tflops_per_gpu || !row.gpus || !rate || !is_megatron(formula))
    return std::nullopt;
  const double flops = *row.tflops_per_gpu * 1e12 * static_cast<double>(*row.gpus) / *rate;
  const auto vocab = padded_vocab(row.vocab.value_or(kUsualVocab), row.tp.value_or(1));
  return solve_hidden(flops, *row.layers, vocab, row.seq.value_or(kUsualSeq), recomputes(row));
}

std::optional<plan::Model> sizes(const Row& row) {
  if (!row.layers || !row.hidden) return std::nullopt;
  return shaped(row, {*row.layers, *row.hidden, row.heads.value_or(1),
                      padded_vocab(row.vocab.value_or(kUsualVocab), row.tp.value_or(1)),
                      row.seq.value_or(kUsualSeq)});
}

// How far a row's TFLOPs are from its own step time, by one way to count.
std::optional<double> disagreement(const Row& row, const std::string& formula, Counted counted) {
  const auto model = sizes(row);
  if (!model || !row.step_time_s || !row.tflops_per_gpu || !row.gpus || !row.gbs)
    return std::nullopt;
  if (counted == Counted::stated && !row.params_b) return std::nullopt;
  const auto flops = formula_flops(formula, *model, row.params_b.value_or(0) * 1e9, counted,
                                   static_cast<double>(*row.gbs), recomputes(row));
  if (!flops) return std::nullopt;
  const double rate = *flops / (*row.step_time_s * static_cast<double>(*row.gpus)) / 1e12;
  return std::abs(rate / *row.tflops_per_gpu - 1);
}

}  // namespace

std::int64_t padded_vocab(std::int64_t vocab, std::int64_t tensor_parallel) {
  return round_up(vocab, 128 * std::max<std::int64_t>(1, tensor_parallel));
}

double solve_hidden(double flops_per_sample, std::int64_t layers, std::int64_t vocab,
                    std::int64_t seq, bool recompute) {
  const auto s = static_cast<double>(seq), l = static_cast<double>(layers);
  const double a = 24 * (recompute ? 4 : 3) * s * l;
  const double b = a * (s / 6 + static_cast<double>(vocab) / (16 * l));
  return (std::sqrt(b * b + 4 * a * flops_per_sample) - b) / (2 * a);
}

std::optional<std::int64_t> usual_heads(std::int64_t hidden, std::int64_t tensor_parallel) {
  std::optional<std::int64_t> best;
  for (std::int64_t dim = 8; dim <= 512; dim += 8) {
    if (hidden % (dim * tensor_parallel) != 0) continue;
    if (!best || std::abs(dim - 128) < std::abs(hidden / *best - 128)) best = hidden / dim;
  }
  return best;
}

std::int64_t usual_hidden(double solved, std::int64_t tensor_parallel) {
  const double step = 8 * static_cast<double>(tensor_parallel);
  const auto nearest = std::max<std::int64_t>(1, std::llround(solved / step));
  const auto reach = static_cast<std::int64_t>(0.005 * solved / step);
  const auto oddness = [&](std::int64_t k) {
    const auto hidden = k * 8 * tensor_parallel;
    const auto heads = usual_heads(hidden, tensor_parallel);
    return std::pair(heads ? std::abs(hidden / *heads - 128) : hidden,
                     std::abs(static_cast<double>(hidden) - solved));
  };
  auto best = nearest;
  for (auto k = std::max<std::int64_t>(1, nearest - reach); k <= nearest + reach; ++k)
    if (oddness(k) < oddness(best)) best = k;
  return best * 8 * tensor_parallel;
}

Peers::Peers(const std::vector<Row>& rows) {
  std::map<std::string, std::map<std::string, int>> used;
  for (const auto& row : rows)
    if (!row.tflops_formula.empty()) ++used[row.source][row.tflops_formula];
  for (const auto& [source, counts] : used)
    formulas_[source] = std::max_element(counts.begin(), counts.end(), [](auto& a, auto& b) {
                          return a.second < b.second;
                        })->first;

  std::map<Names, std::vector<double>> widths;
  std::map<Names, std::array<std::vector<double>, 3>> errors;
  for (const auto& row : rows) {
    if (row.suspect.value_or(false)) continue;
    const auto formula_used = formula(row);
    if (!row.hidden)
      if (const auto width = solved_hidden(row, formula_used))
        widths[{row.source, row.table}].push_back(*width);
    for (const auto way : {Counted::stated, Counted::all, Counted::without_embeddings})
      if (const auto error = disagreement(row, formula_used, way))
        errors[{row.source, formula_used}][static_cast<std::size_t>(way)].push_back(*error);
  }
  for (const auto& row : rows)
    if (row.tied) tied_.try_emplace({row.source, row.hidden.value_or(0)}, *row.tied);
  for (const auto& [names, found] : widths) hidden_[names] = statistics::median(found);
  for (const auto& [names, by_way] : errors) {
    double least = 0.02;  // worse than that, no way to count explains them
    for (std::size_t way = 0; way < by_way.size(); ++way)
      if (!by_way[way].empty() && statistics::median(by_way[way]) < least) {
        least = statistics::median(by_way[way]);
        counted_[names] = static_cast<Counted>(way);
      }
  }
}

std::string Peers::formula(const Row& row) const {
  if (!row.tflops_formula.empty()) return row.tflops_formula;
  const auto found = formulas_.find(row.source);
  return found == formulas_.end() ? "" : found->second;
}

Counted Peers::counted(const Row& row) const {
  const auto found = counted_.find({row.source, formula(row)});
  if (found != counted_.end()) return found->second;
  return row.params_b ? Counted::stated : Counted::all;
}

std::optional<double> Peers::hidden(const Row& row) const {
  const auto found = hidden_.find({row.source, row.table});
  return found == hidden_.end() ? std::nullopt : std::optional(found->second);
}

std::optional<bool> Peers::tied(const Row& row) const {
  const auto found = tied_.find({row.source, row.hidden.value_or(0)});
  return found == tied_.end() ? std::nullopt : std::optional(found->second);
}

std::optional<double> formula_flops(const std::string& formula, const plan::Model& model,
                                    double stated_params, Counted counted, double global_batch,
                                    bool recompute) {
  if (is_megatron(formula)) return plan::megatron_flops(model, global_batch, recompute);
  if (formula != "simple8" && formula != "simple6") return std::nullopt;
  double params = model.params();
  if (counted == Counted::stated && stated_params > 0) params = stated_params;
  if (counted == Counted::without_embeddings)
    params = static_cast<double>(model.layers) * model.layer_params();
  return plan::simple_flops(params, global_batch * static_cast<double>(model.seq),
                            formula == "simple8");
}

}  // namespace orch::published
