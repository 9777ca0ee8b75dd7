#include "core/record/published/conventions.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/base/units.h"
#include "core/plan/family.h"
#include "core/record/published/framework.h"
#include "core/record/published/said.h"

namespace orch::published {
namespace {

using record::Record;

bool is_positive(const std::optional<double>& cell) {
  return cell && *cell > 0 && std::isfinite(*cell);
}

plan::Model padded_model(const Record& row) {
  const auto vocab =
      padded_vocab(row.whole("vocab").value_or(0), row.whole("tensor_parallel").value_or(1));
  return plan::sized("gpt", "", row.whole("layers").value_or(0), row.whole("hidden").value_or(0), 1,
                     vocab, *row.whole("seq"));
}

bool allows(const Record& row, const std::string& formula, Counted counted) {
  const bool layers = row.whole("layers") && row.whole("hidden");
  if (formula == "megatron" || counted == Counted::all) return layers && row.whole("vocab");
  return counted == Counted::stated ? is_positive(row.field_number("params")) : layers;
}

void add(const Record& row, const std::string& formula, Counted counted, bool recompute,
         std::vector<Convention>& out) {
  if (!allows(row, formula, counted)) return;
  const auto params = row.field_number("params").value_or(0);
  const auto flops = formula_flops(formula, padded_model(row), params, counted, 1, recompute);
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

std::optional<double> batch_of(const Record& row) {
  if (const auto batch = row.field_number("global_batch")) return batch;
  const auto micro_batch = row.field_number("micro_batch"), dp = row.field_number("data_parallel");
  const auto count = row.field_number(row.field("accumulate") ? "accumulate" : "pp_chunks");
  if (!micro_batch || !count || !dp) return std::nullopt;
  return *micro_batch * *count * *dp;
}

std::vector<Rate> rates(const Record& row) {
  std::vector<Rate> out;
  const auto batch = batch_of(row), seconds = step_time(row), seq = row.field_number("seq");
  const auto samples = row.measured.samples_per_second, days = row.measured.days_per_100b_tokens;
  if (is_positive(seconds) && batch)
    out.push_back({*batch / *seconds, rounding(*seconds), "step_seconds",
                   fmt::format("{:g} s for {:.0f} samples", *seconds, *batch)});
  if (is_positive(samples))
    out.push_back({*samples, rounding(*samples), "samples_per_second",
                   fmt::format("{:g} samples/s", *samples)});
  if (is_positive(days) && is_positive(seq))
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
    add(row, "megatron", Counted::all, recompute, out);
    for (const auto way : {Counted::all, Counted::without_embeddings, Counted::stated})
      add(row, recompute ? "simple8" : "simple6", way, recompute, out);
  }
  return out;
}

std::vector<Convention> own_conventions(const Record& row, const Peers& peers) {
  auto formula = peers.formula(row);
  if (formula.starts_with("megatron")) formula = "megatron";  // it has several names
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

double tflops(const Convention& convention, const Rate& rate, double gpus) {
  return convention.flops * rate.samples_per_second / gpus / 1e12;
}

}  // namespace orch::published
