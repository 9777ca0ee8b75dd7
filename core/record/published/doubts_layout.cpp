#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "core/base/text.h"
#include "core/base/units.h"
#include "core/plan/family.h"
#include "core/record/published/doubts_checks.h"
#include "core/record/published/flops.h"
#include "core/record/published/said.h"

namespace orch::published {
namespace {

using record::Record;
using Count = std::optional<std::int64_t>;

// The value of a factor for which the product would be right; "" if it is not an integer.
std::string instead(const char* field, const Count& factor, double wanted, double product) {
  if (!factor) return "";
  const double fitting = static_cast<double>(*factor) * wanted / product;
  if (fitting < 1 || fitting != std::floor(fitting)) return "";
  return fmt::format("{} {:.0f}", field, fitting);
}

// "; a 2 or b 4 would fit", or empty.
std::string would_fit(std::vector<std::string> readings) {
  std::erase(readings, "");
  return readings.empty() ? "" : "; " + join(readings, " or ") + " would fit";
}

double product(const Count& a, const Count& b, const Count& c) {
  return static_cast<double>(*a) * static_cast<double>(*b) * static_cast<double>(*c);
}

void doubt_ranks(RowChecks& inquiry, std::size_t i) {
  const auto& row = inquiry.rows[i];
  const auto said = row.whole("gpus"), dp = row.whole("data_parallel");
  const auto tp = row.whole("tensor_parallel"), pp = row.whole("pipeline_parallel");
  if (!said || !tp || !pp || !dp) return;
  const double ranks = product(dp, tp, pp);
  const auto gpus = static_cast<double>(*said);
  if (ranks == gpus || ranks < 1) return;
  inquiry.add(
      i, "topology", "tensor_parallel, pipeline_parallel, data_parallel, gpus",
      fmt::format("data {} x tensor {} x pipeline {} = {:.0f} ranks, the row says {} GPUs{}", *dp,
                  *tp, *pp, ranks, *said,
                  would_fit({instead("tensor_parallel", tp, gpus, ranks),
                             instead("pipeline_parallel", pp, gpus, ranks),
                             instead("data_parallel", dp, gpus, ranks),
                             instead("context_parallel", Count(1), gpus, ranks)})));
}

// The last node may be partly used.
void doubt_nodes(RowChecks& inquiry, std::size_t i) {
  const auto& row = inquiry.rows[i];
  const auto said = row.whole("gpus"), nodes = row.whole("nodes");
  const auto per_node = row.whole("gpus_per_node");
  if (!said || !nodes || !per_node || *per_node < 1) return;
  const double most = static_cast<double>(*nodes) * static_cast<double>(*per_node);
  const auto gpus = static_cast<double>(*said);
  if (gpus <= most && gpus > most - static_cast<double>(*per_node)) return;
  inquiry.add(i, "topology", "nodes, gpus_per_node, gpus",
              fmt::format("{} nodes of {} GPUs have {:.0f}, the row says {} GPUs{}", *nodes,
                          *per_node, most, *said,
                          would_fit({instead("nodes", nodes, gpus, most),
                                     instead("gpus_per_node", per_node, gpus, most)})));
}

void doubt_division(RowChecks& inquiry, std::size_t i, const char* whole, const char* parts) {
  const auto& row = inquiry.rows[i];
  const auto amount = row.whole(whole), among = row.whole(parts);
  if (!amount || !among || *among < 1 || *amount % *among == 0) return;
  inquiry.add(i, "topology", fmt::format("{}, {}", whole, parts),
              fmt::format("{} {} does not divide by {} {}", whole, *amount, parts, *among));
}

// Uneven stages can run, and so can stages that count the embeddings as layers: no doubt. But every
// stage needs a layer.
void doubt_stages(RowChecks& inquiry, std::size_t i) {
  const auto& row = inquiry.rows[i];
  const auto layers = row.whole("layers"), stages = row.whole("pipeline_parallel");
  if (!layers || !stages || *layers + 2 >= *stages) return;
  inquiry.add(i, "topology", "layers, pipeline_parallel",
              fmt::format("{} layers cannot fill {} pipeline stages", *layers, *stages));
}

void doubt_batch(RowChecks& inquiry, std::size_t i, const char* field) {
  const auto& row = inquiry.rows[i];
  const auto global = row.whole("global_batch"), micro = row.whole("micro_batch");
  const auto micro_batches = row.whole(field), dp = row.whole("data_parallel");
  if (!global || !micro || !dp || !micro_batches) return;
  const double batch = product(micro, micro_batches, dp);
  const auto said = static_cast<double>(*global);
  if (batch == said || batch < 1) return;
  inquiry.add(i, "batch", fmt::format("global_batch, micro_batch, {}, data_parallel", field),
              fmt::format("micro-batch {} x {} micro-batches x data {} = {:.0f} samples, the row "
                          "says a global batch of {}{}",
                          *micro, *micro_batches, *dp, batch, *global,
                          would_fit({instead("micro_batch", micro, said, batch),
                                     instead(field, micro_batches, said, batch),
                                     instead("data_parallel", dp, said, batch)})));
}

constexpr double kLabel = 0.02;  // sizes in names are rounded loosely
// Architectures other than GPT have other sizes. If a source has rows of GPT only, any other size
// is doubtful; elsewhere, a size far below that of its attention and feed-forward layers.
constexpr int kEnoughRows = 3;
constexpr double kMostRows = 0.8, kFarLess = 0.6;
constexpr double kFarMore = 64;    // beyond any mixture of experts: 1T has 27 dense ones
constexpr double kInGb = 1.08;     // error of GB instead of GiB
constexpr double kLeastKept = 16;  // activation bytes of a layer per token and width: half of 34

plan::Model gpt_model(const Record& row) {
  return plan::sized("gpt", "", *row.whole("layers"), *row.whole("hidden"), 1,
                     row.whole("vocab").value_or(0), 0);
}

// Layers alone; with embeddings; with a separate output head as well.
std::vector<double> params_by_count(const Record& row) {
  const auto model = gpt_model(row);
  const double layers = static_cast<double>(model.layers) * model.layer_params();
  if (!row.whole("vocab")) return {layers};
  return {layers, layers + model.embedding_params(), layers + 2 * model.embedding_params()};
}

// Some sources use 1e9 for a billion, some 2^30.
bool is_label_of(double params, double label) {
  const double slack = kLabel + rounding(label);
  for (const double billion : {1e9, 0x1p30})
    if (std::abs(params / billion / label - 1) <= slack) return true;
  return false;
}

// The smallest activation memory of any framework without recomputation on one GPU that has all
// layers, in GiB.
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

// A log whose model is dense says its size in two ways.
double far_more(const Record& row) {
  constexpr double kTwice = 2;
  return row.origin.kind == "log" && row.whole("experts").value_or(1) <= 1 ? kTwice : kFarMore;
}

bool says_size(const Record& row) {
  return row.field_number("params").value_or(0) > 0 && row.whole("layers") && row.whole("hidden");
}

void add_size(RowChecks& inquiry, std::size_t i) {
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

void doubt_layout(RowChecks& inquiry, std::size_t i) {
  const auto& row = inquiry.rows[i];
  doubt_ranks(inquiry, i);
  doubt_nodes(inquiry, i);
  doubt_division(inquiry, i, "hidden", "heads");
  doubt_division(inquiry, i, "heads", "tensor_parallel");
  doubt_stages(inquiry, i);
  doubt_batch(inquiry, i, "accumulate");
  if (row.whole("pp_chunks") != row.whole("accumulate")) doubt_batch(inquiry, i, "pp_chunks");
}

bool has_usual_size(const Record& row) {
  if (!says_size(row)) return false;
  const auto found = params_by_count(row);
  return std::any_of(found.begin(), found.end(),
                     [&](double params) { return is_label_of(params, *billions(row)); });
}

void doubt_sizes(RowChecks& inquiry) {
  std::map<std::string, std::pair<int, int>> usual;  // by source: GPT-sized rows, all rows
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
                 : kFarLess * layers > said || said > far_more(row) * most)
      add_size(inquiry, i);
  }
}

void doubt_memory(RowChecks& inquiry, std::size_t i) {
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
