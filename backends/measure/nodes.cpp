#include "backends/measure/nodes.h"

#include <torch/version.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <map>

#include "backends/measure/operations.h"
#include "backends/runtime/loop/memory.h"
#include "backends/runtime/loop/slow_ranks.h"

namespace orch::measure {
namespace {

constexpr std::size_t kLongestName = 64;

// SLURM's name of the node: several nodes of a test may be one machine.
std::string own_node() {
  if (const char* name = std::getenv("SLURMD_NODENAME")) return name;
  std::array<char, kLongestName> name{};
  ::gethostname(name.data(), name.size() - 1);
  return name.data();
}

at::TensorOptions on(at::ScalarType type, at::Device device) {
  return at::TensorOptions(type).device(device);
}

// The same number of values of every rank.
std::vector<std::vector<double>> gathered(train::World& world, const std::vector<double>& own) {
  const auto width = static_cast<std::int64_t>(own.size());
  const auto mine = at::tensor(own, at::TensorOptions(at::kDouble)).to(world.device());
  const auto all = at::empty({world.size(), width}, on(at::kDouble, world.device()));
  world.world().all_gather(all, mine).wait();
  const auto host = all.cpu();
  const auto* values = host.data_ptr<double>();
  std::vector<std::vector<double>> out;
  for (int rank = 0; rank < world.size(); ++rank)
    out.emplace_back(values + rank * width, values + (rank + 1) * width);
  return out;
}

// The ranks of each node, by the node's name, in the order of their first ranks.
struct JobNodes {
  std::vector<std::string> names;
  std::vector<std::vector<int>> ranks;
  std::size_t own = 0;

  std::size_t size() const { return names.size(); }
  // As many as every node has: these talk to each other.
  std::size_t least_ranks() const {
    return std::ranges::min_element(ranks, {}, &std::vector<int>::size)->size();
  }
};

JobNodes nodes_of(train::World& world) {
  std::vector<double> name(kLongestName);
  const auto own = own_node().substr(0, kLongestName - 1);
  std::copy(own.begin(), own.end(), name.begin());
  JobNodes out;
  const auto all = gathered(world, name);
  for (int rank = 0; rank < world.size(); ++rank) {
    std::string text;
    for (const double letter : all[static_cast<std::size_t>(rank)])
      if (letter != 0) text += static_cast<char>(letter);
    auto at = std::ranges::find(out.names, text);
    if (at == out.names.end()) {
      out.names.push_back(text);
      out.ranks.emplace_back();
      at = out.names.end() - 1;
    }
    const auto index = static_cast<std::size_t>(at - out.names.begin());
    out.ranks[index].push_back(rank);
    if (rank == world.rank()) out.own = index;
  }
  return out;
}

// Seconds of an all-reduce of each size; of all sizes 0 where this rank is in no such group.
class AllReduceTimer {
 public:
  AllReduceTimer(train::World& world, double seconds) : world_(world), seconds_(seconds) {
    sizes_ = {64 << 10, 1 << 20, 16 << 20};
    if (world.device().is_cuda()) sizes_.push_back(128 << 20);
  }

  const std::vector<std::int64_t>& sizes() const { return sizes_; }

  std::vector<double> of(train::CommGroup* ranks) {
    std::vector<double> out(sizes_.size());
    if (ranks == nullptr || ranks->size() == 1) return out;
    TimedDevice bench(*ranks, world_.device(), seconds_);
    for (std::size_t i = 0; i < sizes_.size(); ++i) {
      const auto tensor = at::zeros({sizes_[i] / 4}, on(at::kFloat, world_.device()));
      out[i] = bench.seconds_together([&] { ranks->all_reduce(tensor).wait(); });
    }
    return out;
  }

 private:
  train::World& world_;
  double seconds_;
  std::vector<std::int64_t> sizes_;
};

// What a rank alone reaches, while all others do the same.
Json ranks_alone(train::World& world, const JobNodes& nodes, double seconds) {
  TimedDevice bench(world.world(), world.device(), seconds);
  const bool cuda = world.device().is_cuda();
  const double slowed = 1 + train::test_slowdown(world.rank());
  const std::int64_t n = cuda ? 8192 : 512, elements = std::int64_t{cuda ? 256 : 4} << 20;
  const auto x = at::ones({n, n}, on(cuda ? at::kHalf : at::kFloat, world.device()));
  auto y = at::empty_like(x);
  const double product = bench.own_seconds_of([&] { at::mm_out(y, x, x); }) * slowed;
  const auto from = at::ones({elements}, on(at::kFloat, world.device()));
  const auto to = at::empty_like(from);
  const double copy = bench.own_seconds_of([&] { to.copy_(from); }) * slowed;
  const auto cube = static_cast<double>(n) * static_cast<double>(n) * static_cast<double>(n);
  const auto all = gathered(world, {2 * cube / product, 8 * static_cast<double>(elements) / copy});
  auto out = Json::array();
  for (std::size_t node = 0; node < nodes.size(); ++node)
    for (const int rank : nodes.ranks[node])
      out.push_back({{"rank", rank},
                     {"node", node},
                     {"product_flops", all[static_cast<std::size_t>(rank)][0]},
                     {"memory_bandwidth", all[static_cast<std::size_t>(rank)][1]}});
  return out;
}

// A group of each node's ranks, all nodes at once.
Json within_nodes(train::World& world, const JobNodes& nodes, AllReduceTimer& timer) {
  train::CommGroup* own = nullptr;
  for (std::size_t node = 0; node < nodes.size(); ++node)
    if (auto* group = world.make_group("node " + std::to_string(node), nodes.ranks[node]))
      own = group;
  const auto all = gathered(world, timer.of(own));
  auto out = Json::array();
  for (std::size_t node = 0; node < nodes.size(); ++node)
    if (nodes.ranks[node].size() > 1)
      out.push_back({{"node", node},
                     {"ranks", nodes.ranks[node].size()},
                     {"seconds", all[static_cast<std::size_t>(nodes.ranks[node].front())]}});
  return out;
}

// The other node of a round in which every node has another one, or itself: all pairs meet once in
// as many rounds as there are nodes (one less if their number is even).
std::size_t other_node(std::size_t node, std::size_t round, std::size_t nodes) {
  const auto even = nodes + nodes % 2, turning = even - 1;
  std::size_t other = 0;
  if (node == turning)
    other = round;
  else if (node == round)
    other = turning;
  else
    other = (2 * round + turning - node) % turning;
  return other < nodes ? other : node;
}

// The seconds of a pair are the mean over its groups, which share the network of their nodes.
Json pair_row(const JobNodes& nodes, std::size_t a, std::size_t b, std::size_t ranks,
              const std::vector<std::vector<double>>& all) {
  auto mean = std::vector<double>(all.front().size());
  for (std::size_t i = 0; i < ranks; ++i)
    for (std::size_t size = 0; size < mean.size(); ++size)
      mean[size] +=
          all[static_cast<std::size_t>(nodes.ranks[a][i])][size] / static_cast<double>(ranks);
  return {{"a", a}, {"b", b}, {"ranks", ranks}, {"seconds", mean}};
}

Json between_nodes(train::World& world, const JobNodes& nodes, AllReduceTimer& timer) {
  auto out = Json::array();
  if (nodes.size() < 2) return out;
  const auto ranks = nodes.least_ranks();
  const auto rounds = nodes.size() - 1 + nodes.size() % 2;
  for (std::size_t round = 0; round < rounds; ++round) {
    train::CommGroup* own = nullptr;
    for (std::size_t a = 0; a < nodes.size(); ++a) {
      const auto b = other_node(a, round, nodes.size());
      if (b <= a) continue;
      for (std::size_t i = 0; i < ranks; ++i)
        if (auto* group = world.make_group("nodes " + std::to_string(a) + " and " +
                                               std::to_string(b) + ", " + std::to_string(i),
                                           {nodes.ranks[a][i], nodes.ranks[b][i]}))
          own = group;
    }
    world.world().barrier();
    const auto all = gathered(world, timer.of(own));
    for (std::size_t a = 0; a < nodes.size(); ++a)
      if (const auto b = other_node(a, round, nodes.size()); b > a)
        out.push_back(pair_row(nodes, a, b, ranks, all));
  }
  return out;
}

}  // namespace

Json nodes(train::World& world, double seconds_each) {
  const auto job = nodes_of(world);
  AllReduceTimer timer(world, seconds_each);
  const bool cuda = world.device().is_cuda();
  Json out{{"version", 1},
           {"torch", TORCH_VERSION},
           {"device", cuda ? "cuda" : "cpu"},
           {"name", cuda ? train::device_name(world.device()) : std::string()},
           {"nodes", job.names}};
  out["ranks"] = ranks_alone(world, job, seconds_each);
  out["bytes"] = timer.sizes();
  out["within"] = within_nodes(world, job, timer);
  out["between"] = between_nodes(world, job, timer);
  world.world().barrier();
  return world.rank() == 0 ? out : Json();
}

}  // namespace orch::measure
