#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "core/base/units.h"
#include "core/plan/family.h"
#include "core/record/published/conventions.h"
#include "core/record/published/doubts_checks.h"
#include "core/record/published/said.h"

namespace orch::published {
namespace {

using record::Record;

constexpr double kLabel = 0.02;  // names are made of sizes, and not with great care
// Other architectures than GPT have other sizes. Where a source has rows of GPT only, what is not
// like GPT is odd; elsewhere, what is far less than its attention and feed-forward layers are.
constexpr int kEnoughRows = 3;
constexpr double kMostRows = 0.8, kFarLess = 0.6;
constexpr double kFarMore = 64;    // beyond any mixture of experts: one of 1T is 27 dense ones
constexpr double kInGb = 1.08;     // GB where GiB was meant
constexpr double kLeastKept = 16;  // bytes of a layer's activations per token and width: half of 34

plan::Model gpt_model(const Record& row) {
  return plan::sized("gpt", "", *row.whole("layers"), *row.whole("hidden"), 1,
                     row.whole("vocab").value_or(0), 0);
}

// Layers alone; with embeddings; with an output of its own besides.
std::vector<double> params_by_count(const Record& row) {
  const auto model = gpt_model(row);
  const double layers = static_cast<double>(model.layers) * model.layer_params();
  if (!row.whole("vocab")) return {layers};
  return {layers, layers + model.embedding_params(), layers + 2 * model.embedding_params()};
}

// Billions are 1e9, to some 2^30.
bool is_label_of(double params, double label) {
  const double slack = kLabel + rounding(label);
  for (const double billion : {1e9, 0x1p30})
    if (std::abs(params / billion / label - 1) <= slack) return true;
  return false;
}

// What stays of activations without recomputation on one GPU that has all layers, in GiB: the
// least that any framework gets by with.
std::optional<double> least_activations(const Record& row) {
  if (row.whole("pipeline_parallel") != 1 || row.field_text("recompute") != "false" ||
      row.flag("offload_activations").value_or(false))
    return std::nullopt;
  double bytes = kLeastKept / std::max(1.0, row.field_number("tensor_parallel").value_or(1));
  for (const auto* name : {"layers", "hidden", "seq", "micro_batch"}) {
    const auto factor = row.field_number(name);
    if (!factor) return std::nullopt;
    bytes *= *factor;
  }
  return bytes / kGiB;
}

bool says_size(const Record& row) {
  return row.field_number("params").value_or(0) > 0 && row.whole("layers") && row.whole("hidden");
}

void add_size(Inquiry& inquiry, std::size_t i) {
  const auto& row = inquiry.rows[i];
  const auto found = params_by_count(row);
  auto reason = fmt::format("{} layers of width {} are {:.1f}B parameters", *row.whole("layers"),
                            *row.whole("hidden"), found.front() / 1e9);
  if (found.size() > 1)
    reason += fmt::format(", {:.1f}B with a vocabulary of {}", found[1] / 1e9, *row.whole("vocab"));
  inquiry.add(i, "size", "params, layers, hidden",
              fmt::format("{}; the row says {:g}B", reason, *billions(row)));
}

}  // namespace

bool has_usual_size(const Record& row) {
  if (!says_size(row)) return false;
  const auto found = params_by_count(row);
  return std::any_of(found.begin(), found.end(),
                     [&](double params) { return is_label_of(params, *billions(row)); });
}

void doubt_sizes(Inquiry& inquiry) {
  std::map<std::string, std::pair<int, int>> usual;  // by source: rows like GPT, all rows
  for (const auto& row : inquiry.rows) {
    if (!says_size(row)) continue;
    auto& [fits, all] = usual[row.source];
    fits += has_usual_size(row);
    ++all;
  }
  for (std::size_t i = 0; i < inquiry.rows.size(); ++i) {
    const auto& row = inquiry.rows[i];
    if (!says_size(row) || has_usual_size(row)) continue;
    const auto [fits, all] = usual[row.source];
    const bool like_gpt = fits >= kEnoughRows && kMostRows * all <= fits;
    const double layers = params_by_count(row).front(), most = params_by_count(row).back();
    const double said = *row.field_number("params");
    if (like_gpt ? row.whole("vocab") || layers > said
                 : kFarLess * layers > said || said > kFarMore * most)
      add_size(inquiry, i);
  }
}

void doubt_memory(Inquiry& inquiry, std::size_t i) {
  const auto& row = inquiry.rows[i];
  const auto used = memory_gib(row);
  if (!used) return;
  const auto& gpu = inquiry.gpus[i];
  if (gpu && gpu->memory_gib > 0 && *used > kInGb * gpu->memory_gib)
    inquiry.add(
        i, "memory", "peak_memory",
        fmt::format("{:g} GB of memory were used, the GPU has {:g}", *used, gpu->memory_gib));
  const auto least = least_activations(row);
  if (least && *used < *least)
    inquiry.add(i, "memory", "peak_memory",
                fmt::format("{} layers of micro-batch {} x {} tokens keep at least {:.1f} GB of "
                            "activations without recomputation; the row says {:g} GB in all",
                            *row.whole("layers"), *row.whole("micro_batch"), *row.whole("seq"),
                            *least, *used));
}

}  // namespace orch::published
