#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/plan/expand.h"
#include "core/price/search/candidates.h"
#include "core/price/search/shapes.h"

namespace orch::search {

// Which fields a search may change, besides those of the layout. "all" opens whatever has a set of
// values to try, but who trains: that is no setting of a training.
struct Opening {
  std::vector<std::string> keep;
  std::vector<std::string> open;
};

// The space without what it says of these fields.
using Names = std::set<std::string, std::less<>>;
plan::Space without(const plan::Space& space, const Names& fields);

// An opened parameter, with those that detail one of its choices: sharding and hybrid_shard_group.
struct Setting {
  int param = 0;              // in the strategy's params
  std::vector<int> children;  // opened as well
  bool depends_on_layout = false;
  std::vector<plan::Value> own;  // what the experiment says of the param and of each child
};

// The combinations that a setting can take in a run: one value for the parameter and each child.
std::vector<std::vector<plan::Value>> points_of(const Setting& setting, const plan::Run& run);

// One model with one strategy: what the experiment fixes, and what is open.
struct Part {
  std::size_t model = 0;        // which of the experiment's
  plan::Experiment experiment;  // one model, one strategy, no constraints; without what is open
  bool tensor_parallel = false, pipeline_parallel = false, micro_batch = false;  // open
  bool keeps_data_parallel = false, keeps_accumulate = false;  // given, and not to be changed
  bool functions = false;  // some field follows from others by a function of the experiment
  std::vector<Setting> settings;
  std::vector<Shape> shapes;  // empty: the model's own
};

// The configurations of one layout: they differ in settings only.
struct Block {
  std::uint64_t ordinal = 0;  // in the order of the space
  std::uint64_t base = 0;     // which of the values that the experiment lists
  std::uint32_t part = 0;
  std::uint32_t shape = 0;
  std::int64_t tensor_parallel = 1;
  std::int64_t pipeline_parallel = 1;
  std::int64_t micro_batch = 1;
};

// One configuration of the space.
struct Place {
  Block block;
  std::uint64_t inner = 0;  // which settings
};

// Everything that an experiment can become when its layout is open. Nothing is stored but the
// parts: configurations are made one at a time (maker.h).
class Space {
 public:
  // The experiment and the clusters must outlive the space. Fields that no strategy has, or that
  // cannot be opened, are errors.
  static Result<std::unique_ptr<const Space>> make(const plan::Experiment& experiment,
                                                   plan::FindCluster find_cluster,
                                                   const Opening& opening);

  const plan::Experiment& experiment() const { return experiment_; }
  const std::vector<Part>& parts() const { return parts_; }
  // The strategy of a configuration; its fields are without what is open.
  const plan::AskedStrategy& strategy_at(const Place& place) const {
    return parts_[place.block.part].experiment.strategies.front();
  }
  // For any thread: only one at a time asks the catalog.
  const plan::FindCluster& find_cluster() const { return find_cluster_; }
  // The experiment's functions live in one Lua state: whoever calls them holds this.
  std::mutex& functions() const { return functions_; }

 private:
  explicit Space(const plan::Experiment& experiment) : experiment_(experiment) {}

  const plan::Experiment& experiment_;
  std::vector<Part> parts_;
  plan::FindCluster find_cluster_;
  mutable std::mutex functions_;
};

}  // namespace orch::search
