#include "core/price/measure/nodes.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "core/base/json_fields.h"
#include "core/base/median.h"
#include "core/base/text.h"
#include "core/price/estimate/price.h"

namespace orch::measure {
namespace {

// GPUs of one kind differ by a few percent, networks by more: below this share of the median
// something is wrong, unless all differ so much that nothing stands out.
constexpr double kSlowRank = 0.9, kSlowLink = 0.75;
constexpr double kStandsOut = 4;  // median absolute deviations

double positive(const nlohmann::json& json) {
  const auto value = json.get<double>();
  if (!std::isfinite(value) || value <= 0) throw std::invalid_argument("a number is not above 0");
  return value;
}

std::vector<double> positives(const nlohmann::json& list) {
  std::vector<double> out;
  for (const auto& item : list) out.push_back(positive(item));
  return out;
}

std::size_t node_of(const nlohmann::json& json, const NodesMeasurement& measured) {
  const auto node = json.get<std::size_t>();
  if (node >= measured.nodes.size()) throw std::invalid_argument("a node has no name");
  return node;
}

NodeLink link_of(const nlohmann::json& json, const char* a, const char* b,
                 const NodesMeasurement& measured) {
  NodeLink out{node_of(json.at(a), measured), node_of(json.at(b), measured),
               json.at("ranks").get<std::int64_t>(), positives(json.at("seconds"))};
  if (out.ranks < 1 || out.seconds.size() != measured.bytes.size())
    throw std::invalid_argument("an all-reduce is incomplete");
  return out;
}

NodesMeasurement read_nodes(const nlohmann::json& json) {
  if (json.at("version") != 1) throw std::invalid_argument("version is not 1");
  NodesMeasurement out;
  out.device = json.at("device").get<std::string>();
  out.name = printable(json.at("name").get<std::string>());
  out.torch = printable(json.at("torch").get<std::string>());
  for (const auto& name : json.at("nodes")) out.nodes.push_back(printable(name.get<std::string>()));
  for (const auto& rank : json.at("ranks"))
    out.ranks.push_back({rank.at("rank").get<std::size_t>(), node_of(rank.at("node"), out),
                         positive(rank.at("product_flops")),
                         positive(rank.at("memory_bandwidth"))});
  out.bytes = positives(json.at("bytes"));
  for (const auto& row : json.at("within")) out.within.push_back(link_of(row, "node", "node", out));
  for (const auto& row : json.at("between")) out.between.push_back(link_of(row, "a", "b", out));
  if (out.ranks.empty() || out.bytes.empty()) throw std::invalid_argument("nothing was measured");
  return out;
}

template <class Row, class Value>
std::vector<double> values_of(const std::vector<Row>& rows, Value value) {
  std::vector<double> out;
  for (const auto& row : rows) out.push_back(value(row));
  return out;
}

// The median, and the share of it below which a value stands out.
struct UsualRate {
  double rate = 0, limit = 0;
};
UsualRate usual_of(const std::vector<double>& rates, double limit) {
  const double middle = median(rates);
  auto deviations = rates;
  for (double& value : deviations) value = std::abs(value / middle - 1);
  return {middle, std::min(limit, 1 - kStandsOut * median(std::move(deviations)))};
}

// A node that computes slowly as a whole. Its ranks' own differences say what stands out, so that
// two nodes can be compared.
void find_slow_hosts(const NodesMeasurement& measured, const char* what, double RankRates::*rate,
                     std::vector<SlowPart>& out) {
  std::vector<UsualRate> nodes;
  double best = 0, limit = kSlowRank;
  for (std::size_t node = 0; node < measured.nodes.size(); ++node) {
    std::vector<double> own;
    for (const auto& rank : measured.ranks)
      if (rank.node == node) own.push_back(rank.*rate);
    nodes.push_back(own.empty() ? UsualRate{} : usual_of(own, kSlowRank));
    best = std::max(best, nodes.back().rate);
    if (!own.empty()) limit = std::min(limit, nodes.back().limit);
  }
  for (std::size_t node = 0; node < nodes.size(); ++node)
    if (const double share = nodes[node].rate / best; share > 0 && share < limit)
      out.push_back({node, "all its ranks", what, share});
}

void find_slow_ranks(const NodesMeasurement& measured, const char* what, double RankRates::*rate,
                     std::vector<SlowPart>& out) {
  const auto begin = out.size();
  find_slow_hosts(measured, what, rate, out);
  const std::vector<SlowPart> hosts(out.begin() + static_cast<std::ptrdiff_t>(begin), out.end());
  const auto usual =
      usual_of(values_of(measured.ranks, [&](const auto& r) { return r.*rate; }), kSlowRank);
  for (const auto& rank : measured.ranks) {
    const double share = rank.*rate / usual.rate;
    if (share < usual.limit && std::ranges::find(hosts, rank.node, &SlowPart::node) == hosts.end())
      out.push_back({rank.node, fmt::format("rank {}", rank.rank), what, share});
  }
}

void find_slow_nodes(const NodesMeasurement& measured, std::vector<SlowPart>& out) {
  if (measured.within.size() < 2) return;
  const auto rate = [&](const NodeLink& link) { return link_bandwidth(measured, link); };
  const auto usual = usual_of(values_of(measured.within, rate), kSlowLink);
  for (const auto& link : measured.within)
    if (const double share = rate(link) / usual.rate; share < usual.limit)
      out.push_back({link.a, "its ranks among each other", "all-reduce", share});
}

// A node that is slow even with its best partner is the reason of all its slow pairs. Of two nodes
// nobody can tell whose fault it is.
void find_slow_pairs(const NodesMeasurement& measured, std::vector<SlowPart>& out) {
  if (measured.nodes.size() < 3) return;
  std::vector<double> best(measured.nodes.size());
  for (const auto& link : measured.between)
    for (const auto node : {link.a, link.b})
      best[node] = std::max(best[node], link_bandwidth(measured, link));
  const auto usual = usual_of(best, kSlowLink);
  const auto is_slow = [&](std::size_t node) { return best[node] / usual.rate < usual.limit; };
  for (std::size_t node = 0; node < best.size(); ++node)
    if (is_slow(node))
      out.push_back({node, "with all others", "all-reduce", best[node] / usual.rate});
  for (const auto& link : measured.between) {
    const double share = link_bandwidth(measured, link) / usual.rate;
    if (share < usual.limit && !is_slow(link.a) && !is_slow(link.b))
      out.push_back({link.a, "with " + measured.nodes[link.b], "all-reduce", share});
  }
}

// The medians of links with the same number of ranks.
std::vector<MeasuredPoint> usual_points(const NodesMeasurement& measured,
                                        const std::vector<NodeLink>& links) {
  std::vector<MeasuredPoint> out;
  for (std::size_t i = 0; i < measured.bytes.size(); ++i)
    out.push_back({measured.bytes[i],
                   median(values_of(links, [&](const auto& link) { return link.seconds[i]; }))});
  return out;
}

}  // namespace

Result<NodesMeasurement> parse_nodes(const std::string& text, const std::string& place) {
  try {
    const auto json = parse_json(text);
    if (json.is_discarded()) throw std::runtime_error("is not JSON");
    return read_nodes(json);
  } catch (const std::exception& error) {  // nlohmann's or our own
    return Error{place, printable(error.what()), "orch and orch-measure must be of one version"};
  }
}

double link_bandwidth(const NodesMeasurement& measured, const NodeLink& link) {
  const bool within = link.a == link.b;
  const auto n = within ? static_cast<double>(link.ranks) : 2.0;
  const auto groups = within ? 1.0 : static_cast<double>(link.ranks);
  return groups * 2 * (n - 1) / n * measured.bytes.back() / link.seconds.back();
}

std::vector<SlowPart> slow_parts(const NodesMeasurement& measured, bool one_network) {
  std::vector<SlowPart> out;
  find_slow_ranks(measured, "products", &RankRates::product_flops, out);
  find_slow_ranks(measured, "memory", &RankRates::memory_bandwidth, out);
  find_slow_nodes(measured, out);
  if (one_network) find_slow_pairs(measured, out);
  return out;
}

NodeRings fit_rings(const NodesMeasurement& measured) {
  NodeRings out;
  if (!measured.within.empty())
    out.within =
        fit_all_reduce(usual_points(measured, measured.within), measured.within.front().ranks);
  if (!measured.between.empty()) {
    out.between = fit_all_reduce(usual_points(measured, measured.between), 2);
    out.between.bandwidth *= static_cast<double>(measured.between.front().ranks);
  }
  return out;
}

// All groups of a pair share its network: the efficiency in a file is that of one ring alone.
plan::Partition measured_links(const NodesMeasurement& measured, plan::Partition base,
                               const std::string& origin) {
  const auto rings = fit_rings(measured);
  const auto set = [&](plan::Link& link, const RingFit& ring, double together) {
    if (!(ring.bandwidth > 0) || !std::isfinite(ring.bandwidth)) return;
    if (ring.latency > 0) link.latency = {ring.latency, origin};
    const double share = ring.bandwidth / link.bandwidth.value / together;
    if (share > 1) link.bandwidth = {ring.bandwidth / together, origin};
    link.efficiency = {std::min(1.0, share), origin};
  };
  set(base.intra_node, rings.within, 1);
  if (base.domain() > base.gpus_per_node || measured.between.empty()) return base;
  const auto groups = static_cast<double>(measured.between.front().ranks);
  set(base.network, rings.between, estimate::raised_by_rings(groups));
  return base;
}

}  // namespace orch::measure
