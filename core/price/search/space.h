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

// The fields that a search may change, besides those of the layout. "all" opens every field with a
// finite set of values, except the trainer, which is not a setting of a training.
struct OpenFields {
  std::vector<std::string> keep;
  std::vector<std::string> open;
};

// A copy of the space without these fields.
using SettingNames = std::set<std::string, std::less<>>;
plan::SweepSpace without(const plan::SweepSpace& space, const SettingNames& fields);

// An opened parameter, with those that belong to one of its choices: sharding and
// hybrid_shard_group.
struct SpaceSetting {
  int param = 0;              // index in the strategy's params
  std::vector<int> children;  // opened with it
  bool depends_on_layout = false;
  bool is_checked = false;       // by plan::check_settings
  std::vector<plan::Value> own;  // the experiment's values of the param and of each child
};

// The combinations that a setting can have in a run: one value for the parameter and each child.
std::vector<std::vector<plan::Value>> points_of(const SpaceSetting& setting, const plan::Run& run);

// One model with one strategy: the fixed fields, and the open ones.
struct SpacePart {
  std::size_t model = 0;        // index among the experiment's
  plan::Experiment experiment;  // one model, one strategy, no constraints; without the open fields
  bool tensor_parallel = false, pipeline_parallel = false, micro_batch = false;  // true: open
  bool keeps_data_parallel = false, keeps_accumulate = false;                    // given and fixed
  bool functions = false;  // a function of the experiment derives some field
  std::vector<SpaceSetting> settings;
  std::vector<RankShape> shapes;  // empty: the model's own
};

// The configurations of one layout: they differ in settings only.
struct SettingsBlock {
  std::uint64_t ordinal = 0;  // number in the order of the space
  std::uint64_t base = 0;     // index of the combination of listed values
  std::uint32_t part = 0;
  std::uint32_t shape = 0;
  std::int64_t tensor_parallel = 1;
  std::int64_t pipeline_parallel = 1;
  std::int64_t micro_batch = 1;
};

// One configuration of the space.
struct SpacePlace {
  SettingsBlock block;
  std::uint64_t inner = 0;  // index of the settings
};

// All configurations of an experiment when its layout is open. Only the parts are stored:
// configurations are made one at a time (maker.h).
class SearchSpace {
 public:
  // The experiment and the clusters must outlive the space. Fields that no strategy has, or that
  // cannot be opened, are errors.
  static Result<std::unique_ptr<const SearchSpace>> make(const plan::Experiment& experiment,
                                                         plan::FindCluster find_cluster,
                                                         const OpenFields& opening);

  const plan::Experiment& experiment() const { return experiment_; }
  const std::vector<SpacePart>& parts() const { return parts_; }
  // The strategy of a configuration, without the open fields.
  const plan::AskedStrategy& strategy_at(const SpacePlace& place) const {
    return parts_[place.block.part].experiment.strategies.front();
  }
  // Thread-safe: it locks the catalog.
  const plan::FindCluster& find_cluster() const { return find_cluster_; }
  // The experiment's functions share one Lua state: callers must hold this lock.
  std::mutex& functions() const { return functions_; }

 private:
  explicit SearchSpace(const plan::Experiment& experiment) : experiment_(experiment) {}

  const plan::Experiment& experiment_;
  std::vector<SpacePart> parts_;
  plan::FindCluster find_cluster_;
  mutable std::mutex functions_;
};

}  // namespace orch::search
