#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/base/result.h"
#include "core/plan/experiment.h"
#include "core/plan/fields.h"

namespace orch::plan {

struct Family;

using FindCluster = std::function<Result<std::shared_ptr<const Cluster>>(std::string_view)>;

// What all runs of one model with one strategy share: the axes, and the source of each field's
// value. Strategy overrides model, model overrides batch, batch overrides hardware.
class FieldSources {
 public:
  FieldSources(const Experiment& experiment, const AskedModel& model,
               const AskedStrategy& strategy);

  const Experiment& experiment() const { return experiment_; }
  const AskedModel& model() const { return model_; }
  const StrategyPtr& strategy() const { return strategy_.strategy; }
  const AskedStrategy& asked() const { return strategy_; }
  // As the strategy names it, or else the experiment; empty: neither does.
  const std::string& stack() const {
    return strategy_.stack.empty() ? experiment_.stack : strategy_.stack;
  }
  const std::vector<const SweepAxis*>& axes() const { return axes_; }
  std::size_t n_fields() const { return sources_.size(); }

  struct Source {
    int axis = -1;  // index in axes(), with its column
    int column = 0;
    const DerivedField* derived = nullptr;
    bool given() const { return axis >= 0 || derived; }
  };
  const Source& source(int field) const { return sources_[static_cast<std::size_t>(field)]; }
  bool given(Field field) const { return source(static_cast<int>(field)).given(); }
  int index(std::string_view name) const;  // -1: no such field

 private:
  void add(const SweepSpace& space);
  void keep_used_axes();

  const Experiment& experiment_;
  const AskedModel& model_;
  const AskedStrategy& strategy_;
  std::vector<const SweepAxis*> axes_;
  std::vector<Source> sources_;
  std::unordered_map<std::string_view, int> index_;
};

// One run in the making: returns every field on demand. Given values come first, then the user's
// functions, then values that follow from other fields, then defaults.
class Resolver {
 public:
  Resolver(const FieldSources& frame, const FindCluster& find_cluster);

  // Starts the run with points[i] of axis i.
  void start(const std::vector<std::size_t>& points);

  const Value& get(int field);
  const Value& get(Field field) { return get(static_cast<int>(field)); }
  std::int64_t integer(Field field);
  Model model();                               // without a name
  std::int64_t layout(std::string_view name);  // tensor_, pipeline_, context_parallel; 1 if unknown
  Result<Value> lookup(std::string_view name);  // for functions and constraints
  const Lookup& as_lookup() const { return lookup_; }
  // True if the field's value was asked for since the start, by anything.
  bool was_asked(int field) const {
    return states_[static_cast<std::size_t>(field)] != State::open;
  }

  const std::shared_ptr<const Cluster>& cluster();
  const Partition* partition();  // null, with a problem noted, if there is none

  // The errors so far: a failed function, an unknown cluster, a value out of range.
  const std::vector<Error>& problems() const { return problems_; }

 private:
  enum class State : char { open, busy, done };

  Value from_source(int field, const FieldSources::Source& source);
  Value follow(Field field);
  Value default_of(int field);
  std::int64_t ranks_of_a_copy();
  std::int64_t follow_gpus();
  std::int64_t follow_accumulate();
  Value follow_global_batch();
  const Family& family();
  Model model_before(Field field);
  Value follow_size(Field field);
  void problem(Error error) { problems_.push_back(std::move(error)); }

  const FieldSources& frame_;
  const FindCluster& find_cluster_;
  Lookup lookup_;
  const std::vector<std::size_t>* points_ = nullptr;
  std::vector<Value> values_;
  std::vector<State> states_;
  std::vector<Error> problems_;
  // Indices, -1 if the strategy has none.
  int tensor_parallel_, pipeline_parallel_, context_parallel_, dtype_, engine_, flash_attention_;
  std::string cluster_name_;
  std::shared_ptr<const Cluster> cluster_;
  const Partition* partition_ = nullptr;
  bool partition_known_ = false;
};

}  // namespace orch::plan
