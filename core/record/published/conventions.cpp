#include "core/record/published/conventions.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/base/units.h"
#include "core/record/published/framework.h"
#include "core/plan/family.h"

namespace orch::published {
namespace {

bool is_positive(const std::optional<double>& cell) {
  return cell && *cell > 0 && std::isfinite(*cell);
}

double real(const std::optional<std::int64_t>& cell) { return static_cast<double>(*cell); }

// Which of our formulas a name means.
std::string plain_formula(const std::string& name) {
  return name.starts_with("megatron") ? "megatron" : name;
}

plan::Model model_of(const Row& row) {
  return plan::sized("gpt", "", row.layers.value_or(0), row.hidden.value_or(0), 1,
                     padded_vocab(row.vocab.value_or(0), row.tp.value_or(1)), *row.seq);
}

bool allows(const Row& row, const std::string& formula, Counted counted) {
  const bool layers = row.layers && row.hidden;
  if (formula == "megatron" || counted == Counted::all) return layers && row.vocab;
  return counted == Counted::stated ? is_positive(row.params_b) : layers;
}

void add(const Row& row, const std::string& formula, Counted counted, bool recompute,
         std::vector<Convention>& out) {
  if (!allows(row, formula, counted)) return;
  const auto flops =
      formula_flops(formula, model_of(row), row.params_b.value_or(0) * 1e9, counted, 1, recompute);
  if (flops && *flops > 0) out.push_back({formula, counted, recompute, *flops});
}

}  // namespace

std::string Convention::words() const {
  if (formula == "megatron")
    return fmt::format("megatron {} recomputation", recompute ? "with" : "without");
  switch (counted) {
    case Counted::stated:
      return formula + ", parameters as stated";
    case Counted::all:
      return formula + ", all parameters";
    default:
      return formula + ", parameters without embeddings";
  }
}

double rounding(double value) {
  const auto text = fmt::format("{}", value);  // the shortest that reads back as the same
  if (value == 0 || text.find('e') != std::string::npos) return 0;
  const auto point = text.find('.');
  const auto decimals = point == std::string::npos ? 0 : text.size() - point - 1;
  return 0.5 * std::pow(10.0, -static_cast<double>(decimals)) / std::abs(value);
}

std::optional<double> batch_of(const Row& row) {
  if (row.gbs) return real(row.gbs);
  const auto& micro_batches = row.gas ? row.gas : row.pp_chunks;
  if (!row.mbs || !micro_batches || !row.dp) return std::nullopt;
  return real(row.mbs) * real(micro_batches) * real(row.dp);
}

std::vector<Rate> rates(const Row& row) {
  std::vector<Rate> out;
  const auto batch = batch_of(row);
  if (is_positive(row.step_time_s) && batch)
    out.push_back({*batch / *row.step_time_s, rounding(*row.step_time_s), "step_seconds",
                   fmt::format("{:g} s for {:.0f} samples", *row.step_time_s, *batch)});
  if (is_positive(row.samples_per_s))
    out.push_back({*row.samples_per_s, rounding(*row.samples_per_s), "samples_per_second",
                   fmt::format("{:g} samples/s", *row.samples_per_s)});
  if (is_positive(row.days_per_100b_tokens) && row.seq && *row.seq > 0) {
    const double tokens = 100e9 / (*row.days_per_100b_tokens * kDay);
    out.push_back({tokens / real(row.seq), rounding(*row.days_per_100b_tokens),
                   "days_per_100b_tokens",
                   fmt::format("{:g} days per 100B tokens", *row.days_per_100b_tokens)});
  }
  return out;
}

std::optional<double> step_seconds(const Row& row) {
  const auto found = rates(row);
  const auto batch = batch_of(row);
  if (found.empty() || !batch) return std::nullopt;
  return *batch / found.front().samples_per_second;
}

std::vector<Convention> conventions(const Row& row) {
  std::vector<Convention> out;
  if (!row.seq) return out;
  for (const bool recompute : {true, false}) {
    add(row, "megatron", Counted::all, recompute, out);
    for (const auto way : {Counted::all, Counted::without_embeddings, Counted::stated})
      add(row, recompute ? "simple8" : "simple6", way, recompute, out);
  }
  return out;
}

std::vector<Convention> own_conventions(const Row& row, const Peers& peers) {
  const auto formula = plain_formula(peers.formula(row));
  const bool open = formula == "megatron" && row.act_ckpt.empty();
  const bool recompute = recompute_of(row) == "full";
  auto out = conventions(row);
  std::erase_if(out, [&](const Convention& way) {
    if (way.formula != formula) return true;
    return formula == "megatron" ? !open && way.recompute != recompute
                                 : way.counted != peers.counted(row);
  });
  return out;
}

double tflops(const Convention& convention, const Rate& rate, double gpus) {
  return convention.flops * rate.samples_per_second / gpus / 1e12;
}

}  // namespace orch::published
