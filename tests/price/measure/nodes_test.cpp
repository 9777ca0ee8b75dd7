#include "core/price/measure/nodes.h"

#include "core/price/estimate/price.h"
#include "tests/test.h"

namespace orch::measure {
namespace {

// Four nodes of two ranks. An all-reduce of b bytes takes 20 us + b / (1 GB/s) within a node, and
// twice that between two.
NodesMeasurement four_nodes() {
  NodesMeasurement out{"cuda", "GPU",           "2.11", {"n1", "n2", "n3", "n4"},
                       {},     {1e5, 1e6, 1e7}, {},     {}};
  for (std::size_t rank = 0; rank < 8; ++rank) out.ranks.push_back({rank, rank / 2, 1e14, 1e12});
  const std::vector<double> within{120e-6, 1020e-6, 10020e-6}, between{240e-6, 2040e-6, 20040e-6};
  for (std::size_t a = 0; a < 4; ++a) {
    out.within.push_back({a, a, 2, within});
    for (std::size_t b = a + 1; b < 4; ++b) out.between.push_back({a, b, 2, between});
  }
  return out;
}

std::vector<std::string> found(const NodesMeasurement& measured) {
  std::vector<std::string> out;
  for (const auto& part : slow_parts(measured))
    out.push_back(measured.nodes[part.node] + " " + part.where + " " + part.what + " " +
                  std::to_string(std::lround(100 * part.share)));
  return out;
}

using Names = std::vector<std::string>;

TEST_CASE("nodes that are alike have no slow part", "[machine]") {
  auto measured = four_nodes();
  measured.ranks[3].product_flops *= 0.95;  // as GPUs of one kind differ
  CHECK(found(measured) == Names{});
}

TEST_CASE("a slow rank is named with its share of the median", "[machine]") {
  auto measured = four_nodes();
  measured.ranks[5].product_flops = 5e13;
  measured.ranks[6].memory_bandwidth = 8e11;
  CHECK(found(measured) == Names{"n3 rank 5 products 50", "n4 rank 6 memory 80"});
}

TEST_CASE("of two nodes the slow one is named, but not whose fault a slow link is", "[machine]") {
  auto two = four_nodes();
  two.nodes.resize(2), two.ranks.resize(4), two.within.resize(2), two.between.resize(1);
  two.ranks[2].product_flops = two.ranks[3].product_flops = 5e13;
  CHECK(found(two) == Names{"n2 all its ranks products 50"});
}

TEST_CASE("where all ranks differ, none stands out", "[machine]") {
  auto measured = four_nodes();  // the median is 0.9, half of all are 0.3 off it or more
  for (std::size_t i = 0; i < 8; ++i) measured.ranks[i].product_flops *= 0.2 + 0.2 * double(i);
  CHECK(found(measured) == Names{});
}

TEST_CASE("a slow node is named instead of all its pairs, a slow pair alone", "[machine]") {
  auto node = four_nodes();
  for (auto& link : node.between)
    if (link.a == 1 || link.b == 1) link.seconds.back() *= 2;
  CHECK(found(node) == Names{"n2 with all others all-reduce 50"});
  auto three = node;
  three.nodes.pop_back();
  std::erase_if(three.between, [](const NodeLink& link) { return link.b == 3; });
  CHECK(found(three) == Names{"n2 with all others all-reduce 50"});
  auto pair = four_nodes();
  pair.between[4].seconds.back() *= 4;  // n2 and n4
  CHECK(found(pair) == Names{"n2 with n4 all-reduce 25"});
  auto inside = four_nodes();
  inside.within[3].seconds.back() *= 2;
  CHECK(found(inside) == Names{"n4 its ranks among each other all-reduce 50"});
}

// Two ranks send all bytes once: 2 (n - 1) / n = 1. Latency is paid twice.
TEST_CASE("latency and bandwidth of rings are those that were put in", "[machine]") {
  const auto rings = fit_rings(four_nodes());
  CHECK_THAT(rings.within.latency, WithinRel(10e-6, 1e-6));
  CHECK_THAT(rings.within.bandwidth, WithinRel(1e9, 1e-6));
  CHECK_THAT(rings.between.latency, WithinRel(20e-6, 1e-6));
  CHECK_THAT(rings.between.bandwidth, WithinRel(2 * 0.5e9, 1e-6));  // two groups of a node
  CHECK_THAT(link_bandwidth(four_nodes(), four_nodes().between[0]),
             WithinRel(2 * 1e7 / 20040e-6, 1e-9));
}

// What is written must price the measured all-reduces as they were measured: both groups of a pair
// at once.
TEST_CASE("measured links have the price that was measured", "[machine]") {
  plan::Partition base;
  base.gpus_per_node = 2, base.nodes = 4;
  base.intra_node = {{4e9, ""}, {1e-6, ""}, {0.9, ""}};
  base.network = {{10e9, ""}, {1e-6, ""}, {0.9, ""}};
  const auto links = measured_links(four_nodes(), base, "measured: here");
  orch_op op{};
  op.kind = ORCH_COLLECTIVE, op.collective = ORCH_ALL_REDUCE, op.group_size = 2;
  const auto seconds = [&](double bytes, std::int64_t stride) {
    op.bytes = bytes, op.group_stride = stride;
    return estimate::Price(links, 8, "bf16").seconds(op);
  };
  for (const auto& [bytes, between] : {std::pair{1e6, 2040e-6}, {1e7, 20040e-6}}) {
    CHECK_THAT(seconds(bytes, 2), WithinRel(between, 1e-6));
    CHECK_THAT(seconds(bytes, 1), WithinRel(between / 2, 1e-6));
  }
  CHECK(links.network.efficiency.origin == "measured: here");
  // Where fast links join the nodes, what was measured between them is not the network.
  base.gpus_per_domain = 8;
  CHECK(measured_links(four_nodes(), base, "measured: here").network.efficiency.value == 0.9);
  auto racks = four_nodes();
  racks.between[0].seconds.back() *= 9;
  CHECK(slow_parts(racks, false).empty());
}

const std::string kOneNode = R"({"version": 1, "torch": "1.13", "device": "cpu", "name": "",
  "nodes": ["n1"], "ranks": [{"rank": 0, "node": 0, "product_flops": 2e9, "memory_bandwidth": 3e9}],
  "bytes": [65536], "within": [], "between": []})";

std::string complaint(const std::string& from, const std::string& to) {
  auto text = kOneNode;
  const auto at = text.find(from);
  REQUIRE(at != std::string::npos);
  const auto read = parse_nodes(text.replace(at, from.size(), to), "nodes.json");
  return read ? "" : orch::text(read.error());
}

TEST_CASE("a measurement of nodes is read, and refused where it cannot be", "[machine]") {
  const auto read = parse_nodes(kOneNode, "nodes.json");
  REQUIRE(read);
  CHECK(read->nodes == Names{"n1"});
  CHECK(read->ranks.front().memory_bandwidth == 3e9);
  CHECK(fit_rings(*read).between.bandwidth == 0);
  CHECK(slow_parts(*read).empty());
  CHECK_THAT(complaint("\"version\": 1", "\"version\": 2"), ContainsSubstring("version is not 1"));
  CHECK_THAT(complaint("2e9", "0"), ContainsSubstring("not above 0"));
  CHECK_THAT(complaint("\"node\": 0", "\"node\": 1"), ContainsSubstring("a node has no name"));
  CHECK_THAT(
      complaint("{\"rank\": 0, \"node\": 0, \"product_flops\": 2e9, \"memory_bandwidth\": 3e9}",
                ""),
      ContainsSubstring("nothing was measured"));
}

}  // namespace
}  // namespace orch::measure
