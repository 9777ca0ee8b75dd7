#include <fmt/format.h>

#include <cmath>

#include "core/base/text.h"
#include "core/record/published/doubts_checks.h"

namespace orch::published {
namespace {

using record::Record;
using Count = std::optional<std::int64_t>;

// What a factor would have to be for a product to come out; "" if no whole number does it.
std::string instead(const char* field, const Count& factor, double wanted, double product) {
  if (!factor) return "";
  const double fitting = static_cast<double>(*factor) * wanted / product;
  if (fitting < 1 || fitting != std::floor(fitting)) return "";
  return fmt::format("{} {:.0f}", field, fitting);
}

// "; a 2 or b 4 would fit", or nothing.
std::string would_fit(std::vector<std::string> readings) {
  std::erase(readings, "");
  return readings.empty() ? "" : "; " + join(readings, " or ") + " would fit";
}

double product(const Count& a, const Count& b, const Count& c) {
  return static_cast<double>(*a) * static_cast<double>(*b) * static_cast<double>(*c);
}

void doubt_ranks(Inquiry& inquiry, std::size_t i) {
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

// The last node need not be full.
void doubt_nodes(Inquiry& inquiry, std::size_t i) {
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

void doubt_division(Inquiry& inquiry, std::size_t i, const char* whole, const char* parts) {
  const auto& row = inquiry.rows[i];
  const auto amount = row.whole(whole), among = row.whole(parts);
  if (!amount || !among || *among < 1 || *amount % *among == 0) return;
  inquiry.add(i, "topology", fmt::format("{}, {}", whole, parts),
              fmt::format("{} {} does not divide by {} {}", whole, *amount, parts, *among));
}

// Uneven stages run, and so do stages that count the embeddings as layers: no doubt. Without a
// layer for each stage nothing does.
void doubt_stages(Inquiry& inquiry, std::size_t i) {
  const auto& row = inquiry.rows[i];
  const auto layers = row.whole("layers"), stages = row.whole("pipeline_parallel");
  if (!layers || !stages || *layers + 2 >= *stages) return;
  inquiry.add(i, "topology", "layers, pipeline_parallel",
              fmt::format("{} layers cannot fill {} pipeline stages", *layers, *stages));
}

void doubt_batch(Inquiry& inquiry, std::size_t i, const char* field) {
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

}  // namespace

void doubt_layout(Inquiry& inquiry, std::size_t i) {
  const auto& row = inquiry.rows[i];
  doubt_ranks(inquiry, i);
  doubt_nodes(inquiry, i);
  doubt_division(inquiry, i, "hidden", "heads");
  doubt_division(inquiry, i, "heads", "tensor_parallel");
  doubt_stages(inquiry, i);
  doubt_batch(inquiry, i, "accumulate");
  if (row.whole("pp_chunks") != row.whole("accumulate")) doubt_batch(inquiry, i, "pp_chunks");
}

}  // namespace orch::published
