#include "core/record/published/flops.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>

#include "core/base/multiples.h"
#include "core/base/number.h"
#include "core/base/units.h"
#include "core/plan/family.h"
#include "core/record/published/framework.h"
#include "core/record/published/said.h"
#include "core/record/published/sizes.h"
#include "core/record/statistics/interval.h"

namespace orch::published {
namespace {

using record::Record;

bool is_megatron_formula(const std::string& formula) { return formula.starts_with("megatron"); }

std::int64_t given_padded_vocab(const Record& row) {
  return padded_vocab(row.whole("vocab").value_or(kUsualVocab),
                      row.whole("tensor_parallel").value_or(1));
}

bool recomputes(const Record& row) { return recompute_of(row) == "full"; }

// Samples per second and GPU that the row states or implies.
std::optional<double> samples_per_second(const Record& row) {
  if (row.measured.samples_per_second) return row.measured.samples_per_second;
  const auto seconds = step_time(row), batch = row.field_number("global_batch");
  return seconds && batch ? std::optional(*batch / *seconds) : std::nullopt;
}

std::optional<double> solved_hidden(const Record& row, const std::string& formula) {
  const auto rate = samples_per_second(row), tflops = stated_tflops(row);
  const auto gpus = row.field_number("gpus");
  const auto layers = row.whole("layers");
  if (!layers || !tflops || !gpus || !rate || !is_megatron_formula(formula)) return std::nullopt;
  return solve_hidden(*tflops * 1e12 * *gpus / *rate, *layers, given_padded_vocab(row),
                      row.whole("seq").value_or(kUsualSeq), recomputes(row));
}

std::optional<plan::Model> given_model(const Record& row) {
  const auto layers = row.whole("layers"), hidden = row.whole("hidden");
  if (!layers || !hidden) return std::nullopt;
  return shaped(row, {*layers, *hidden, row.whole("heads").value_or(1), given_padded_vocab(row),
                      row.whole("seq").value_or(kUsualSeq)});
}

// The relative difference between a row's TFLOPs and those from its step time, by one convention.
std::optional<double> disagreement(const Record& row, const std::string& formula,
                                   CountedParameters counted) {
  const auto model = given_model(row);
  const auto seconds = step_time(row), tflops = stated_tflops(row);
  const auto gpus = row.field_number("gpus"), batch = row.field_number("global_batch");
  const auto params = row.field_number("params");
  if (!model || !seconds || !tflops || !gpus || !batch) return std::nullopt;
  if (counted == CountedParameters::stated && !params) return std::nullopt;
  const auto flops =
      formula_flops(formula, *model, params.value_or(0), counted, *batch, recomputes(row));
  if (!flops) return std::nullopt;
  return std::abs(*flops / (*seconds * *gpus) / 1e12 / *tflops - 1);
}

plan::Model padded_model(const Record& row) {
  const auto vocab =
      padded_vocab(row.whole("vocab").value_or(0), row.whole("tensor_parallel").value_or(1));
  return plan::sized("gpt", "", row.whole("layers").value_or(0), row.whole("hidden").value_or(0), 1,
                     vocab, *row.whole("seq"));
}

bool allows(const Record& row, const std::string& formula, CountedParameters counted) {
  const bool layers = row.whole("layers") && row.whole("hidden");
  if (formula == "megatron" || counted == CountedParameters::all)
    return layers && row.whole("vocab");
  return counted == CountedParameters::stated ? positive(row.field_number("params")).has_value()
                                              : layers;
}

void add(const Record& row, const std::string& formula, CountedParameters counted, bool recompute,
         std::vector<Convention>& out) {
  if (!allows(row, formula, counted)) return;
  const auto params = row.field_number("params").value_or(0);
  const auto flops = formula_flops(formula, padded_model(row), params, counted, 1, recompute);
  if (flops && *flops > 0) out.push_back({formula, counted, recompute, *flops});
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

PeerRows::PeerRows(const std::vector<Record>& rows, RowChoice of) {
  std::map<std::string, std::map<std::string, int>> used;
  for (const auto& row : rows)
    if (!tflops_formula(row).empty()) ++used[row.source][tflops_formula(row)];
  for (const auto& [source, counts] : used)
    formulas_[source] = std::max_element(counts.begin(), counts.end(), [](auto& a, auto& b) {
                          return a.second < b.second;
                        })->first;

  std::map<Names, std::vector<double>> widths;
  std::map<Names, std::array<std::vector<double>, 3>> errors;
  for (const auto& row : rows) {
    if (of == RowChoice::trusted && row.flag("suspect").value_or(false)) continue;
    const auto formula_used = formula(row);
    if (!row.whole("hidden"))
      if (const auto width = solved_hidden(row, formula_used))
        widths[{row.source, row.table}].push_back(*width);
    for (const auto way :
         {CountedParameters::stated, CountedParameters::all, CountedParameters::without_embeddings})
      if (const auto error = disagreement(row, formula_used, way))
        errors[{row.source, formula_used}][static_cast<std::size_t>(way)].push_back(*error);
  }
  for (const auto& row : rows)
    if (const auto tied = row.flag("tied"))
      tied_.try_emplace({row.source, row.whole("hidden").value_or(0)}, *tied);
  for (const auto& [names, found] : widths) hidden_[names] = statistics::median(found);
  for (const auto& [names, by_way] : errors) {
    double least = 0.02;  // beyond this, no convention explains them
    for (std::size_t way = 0; way < by_way.size(); ++way)
      if (!by_way[way].empty() && statistics::median(by_way[way]) < least) {
        least = statistics::median(by_way[way]);
        counted_[names] = static_cast<CountedParameters>(way);
      }
  }
}

std::string PeerRows::formula(const Record& row) const {
  if (!tflops_formula(row).empty()) return tflops_formula(row);
  const auto found = formulas_.find(row.source);
  return found == formulas_.end() ? "" : found->second;
}

CountedParameters PeerRows::counted(const Record& row) const {
  const auto found = counted_.find({row.source, formula(row)});
  if (found != counted_.end()) return found->second;
  return row.field("params") ? CountedParameters::stated : CountedParameters::all;
}

std::optional<double> PeerRows::hidden(const Record& row) const {
  const auto found = hidden_.find({row.source, row.table});
  return found == hidden_.end() ? std::nullopt : std::optional(found->second);
}

std::optional<bool> PeerRows::tied(const Record& row) const {
  const auto found = tied_.find({row.source, row.whole("hidden").value_or(0)});
  return found == tied_.end() ? std::nullopt : std::optional(found->second);
}

std::optional<double> formula_flops(const std::string& formula, const plan::Model& model,
                                    double stated_params, CountedParameters counted,
                                    double global_batch, bool recompute) {
  if (is_megatron_formula(formula)) return plan::megatron_flops(model, global_batch, recompute);
  if (formula != "simple8" && formula != "simple6") return std::nullopt;
  double params = model.params();
  if (counted == CountedParameters::stated && stated_params > 0) params = stated_params;
  if (counted == CountedParameters::without_embeddings)
    params = static_cast<double>(model.layers) * model.layer_params();
  return plan::simple_flops(params, global_batch * static_cast<double>(model.seq),
                            formula == "simple8");
}

std::string Convention::words() const {
  if (formula == "megatron")
    return fmt::format("megatron {} recomputation", recompute ? "with" : "without");
  switch (counted) {
    case CountedParameters::stated:
      return formula + ", parameters as stated";
    case CountedParameters::all:
      return formula + ", all parameters";
    default:
      return formula + ", parameters without embeddings";
  }
}

double rounding(double value) {
  const auto text = fmt::format("{}", value);  // the shortest that reads back equal
  if (value == 0 || text.find('e') != std::string::npos) return 0;
  const auto point = text.find('.');
  const auto decimals = point == std::string::npos ? 0 : text.size() - point - 1;
  return 0.5 * std::pow(10.0, -static_cast<double>(decimals)) / std::abs(value);
}

std::optional<double> batch_of(const Record& row) {
  if (const auto batch = row.field_number("global_batch")) return batch;
  const auto micro_batch = row.field_number("micro_batch"), dp = row.field_number("data_parallel");
  const auto count = row.field_number(row.field("accumulate") ? "accumulate" : "pp_chunks");
  if (!micro_batch || !count || !dp) return std::nullopt;
  return *micro_batch * *count * *dp;
}

std::vector<RowSpeed> rates(const Record& row) {
  std::vector<RowSpeed> out;
  const auto batch = batch_of(row), seconds = step_time(row), seq = row.field_number("seq");
  const auto samples = row.measured.samples_per_second, days = row.measured.days_per_100b_tokens;
  if (positive(seconds) && batch)
    out.push_back({*batch / *seconds, rounding(*seconds), "step_seconds",
                   fmt::format("{:g} s for {:.0f} samples", *seconds, *batch)});
  if (positive(samples))
    out.push_back({*samples, rounding(*samples), "samples_per_second",
                   fmt::format("{:g} samples/s", *samples)});
  if (positive(days) && positive(seq))
    out.push_back({100e9 / (*days * kDay) / *seq, rounding(*days), "days_per_100b_tokens",
                   fmt::format("{:g} days per 100B tokens", *days)});
  return out;
}

std::optional<double> step_seconds(const Record& row) {
  const auto found = rates(row);
  const auto batch = batch_of(row);
  if (found.empty() || !batch) return std::nullopt;
  return *batch / found.front().samples_per_second;
}

std::vector<Convention> conventions(const Record& row) {
  std::vector<Convention> out;
  if (!row.whole("seq")) return out;
  for (const bool recompute : {true, false}) {
    add(row, "megatron", CountedParameters::all, recompute, out);
    for (const auto way :
         {CountedParameters::all, CountedParameters::without_embeddings, CountedParameters::stated})
      add(row, recompute ? "simple8" : "simple6", way, recompute, out);
  }
  return out;
}

std::vector<Convention> own_conventions(const Record& row, const PeerRows& peers) {
  auto formula = peers.formula(row);
  if (formula.starts_with("megatron")) formula = "megatron";  // it has several variants
  const bool open = formula == "megatron" && row.field_text("recompute").empty();
  const bool recompute = recompute_of(row) == "full";
  auto out = conventions(row);
  std::erase_if(out, [&](const Convention& way) {
    if (way.formula != formula) return true;
    return formula == "megatron" ? !open && way.recompute != recompute
                                 : way.counted != peers.counted(row);
  });
  return out;
}

double tflops(const Convention& convention, const RowSpeed& rate, double gpus) {
  return convention.flops * rate.samples_per_second / gpus / 1e12;
}

}  // namespace orch::published
