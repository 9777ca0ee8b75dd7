#include <fmt/format.h>

#include <cmath>

#include "core/base/text.h"
#include "core/record/published/doubts_checks.h"

namespace orch::published {
namespace {

using Cell = std::optional<std::int64_t>;

// What a factor would have to be for a product to come out; "" if no whole number does it.
std::string instead(const char* field, const Cell& factor, double wanted, double product) {
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

double product(const Cell& a, const Cell& b, const Cell& c) {
  return static_cast<double>(*a) * static_cast<double>(*b) * static_cast<double>(*c);
}

void doubt_ranks(Inquiry& inquiry, std::size_t i) {
  const auto& row = inquiry.rows[i];
  if (!row.gpus || !row.tp || !row.pp || !row.dp) return;
  const double ranks = product(row.dp, row.tp, row.pp);
  const auto gpus = static_cast<double>(*row.gpus);
  if (ranks == gpus || ranks < 1) return;
  inquiry.add(
      i, "topology", "tensor_parallel, pipeline_parallel, data_parallel, gpus",
      fmt::format("data {} x tensor {} x pipeline {} = {:.0f} ranks, the row says {} GPUs{}",
                  *row.dp, *row.tp, *row.pp, ranks, *row.gpus,
                  would_fit({instead("tensor_parallel", row.tp, gpus, ranks),
                             instead("pipeline_parallel", row.pp, gpus, ranks),
                             instead("data_parallel", row.dp, gpus, ranks),
                             instead("context_parallel", Cell(1), gpus, ranks)})));
}

// The last node need not be full.
void doubt_nodes(Inquiry& inquiry, std::size_t i) {
  const auto& row = inquiry.rows[i];
  if (!row.gpus || !row.nodes || !row.gpus_per_node || *row.gpus_per_node < 1) return;
  const double most = static_cast<double>(*row.nodes) * static_cast<double>(*row.gpus_per_node);
  const auto gpus = static_cast<double>(*row.gpus);
  if (gpus <= most && gpus > most - static_cast<double>(*row.gpus_per_node)) return;
  inquiry.add(i, "topology", "nodes, gpus_per_node, gpus",
              fmt::format("{} nodes of {} GPUs have {:.0f}, the row says {} GPUs{}", *row.nodes,
                          *row.gpus_per_node, most, *row.gpus,
                          would_fit({instead("nodes", row.nodes, gpus, most),
                                     instead("gpus_per_node", row.gpus_per_node, gpus, most)})));
}

void doubt_division(Inquiry& inquiry, std::size_t i, const char* whole, const Cell& amount,
                    const char* parts, const Cell& among) {
  if (!amount || !among || *among < 1 || *amount % *among == 0) return;
  inquiry.add(i, "topology", fmt::format("{}, {}", whole, parts),
              fmt::format("{} {} does not divide by {} {}", whole, *amount, parts, *among));
}

// Uneven stages run, and so do stages that count the embeddings as layers: no doubt. Without a
// layer for each stage nothing does.
void doubt_stages(Inquiry& inquiry, std::size_t i) {
  const auto& row = inquiry.rows[i];
  if (!row.layers || !row.pp || *row.layers + 2 >= *row.pp) return;
  inquiry.add(i, "topology", "layers, pipeline_parallel",
              fmt::format("{} layers cannot fill {} pipeline stages", *row.layers, *row.pp));
}

void doubt_batch(Inquiry& inquiry, std::size_t i, const char* field, const Cell& micro_batches) {
  const auto& row = inquiry.rows[i];
  if (!row.gbs || !row.mbs || !row.dp || !micro_batches) return;
  const double batch = product(row.mbs, micro_batches, row.dp);
  const auto said = static_cast<double>(*row.gbs);
  if (batch == said || batch < 1) return;
  inquiry.add(i, "batch", fmt::format("global_batch, micro_batch, {}, data_parallel", field),
              fmt::format("micro-batch {} x {} micro-batches x data {} = {:.0f} samples, the row "
                          "says a global batch of {}{}",
                          *row.mbs, *micro_batches, *row.dp, batch, *row.gbs,
                          would_fit({instead("micro_batch", row.mbs, said, batch),
                                     instead(field, micro_batches, said, batch),
                                     instead("data_parallel", row.dp, said, batch)})));
}

}  // namespace

void doubt_layout(Inquiry& inquiry, std::size_t i) {
  const auto& row = inquiry.rows[i];
  doubt_ranks(inquiry, i);
  doubt_nodes(inquiry, i);
  doubt_division(inquiry, i, "hidden", row.hidden, "heads", row.heads);
  doubt_division(inquiry, i, "heads", row.heads, "tensor_parallel", row.tp);
  doubt_stages(inquiry, i);
  doubt_batch(inquiry, i, "accumulate", row.gas);
  if (row.pp_chunks != row.gas) doubt_batch(inquiry, i, "pp_chunks", row.pp_chunks);
}

}  // namespace orch::published
