#pragma once

#include <algorithm>
#include <functional>
#include <vector>

#include "core/plan/estimate.h"
#include "core/plan/run.h"
#include "core/price/backend/work.h"
#include "core/price/estimate/price.h"
#include "core/price/estimate/spread.h"

namespace orch::estimate {

// Seconds of what may run under something: on links between ranks and to the host, and of the
// host's own work beside them. The slower one is waited for.
struct Lanes {
  double links = 0, host = 0;

  double& of(const orch_op& op) { return op.kind == ORCH_HOST ? host : links; }
  double longest() const { return std::max(links, host); }
  void add(const Lanes& other, double times);
};

// Seconds of one block or stage, by phase. "open" is what nothing hides; "hidden" may run under the
// open part of its phase (in step: under the last backward). What is late runs under the next
// step's first forward.
struct Phases {
  double forward_open = 0, backward_open = 0, step_open = 0;  // recomputation is of backward
  Lanes forward_hidden, backward_hidden, step_hidden;
  Lanes late, late_gathers;  // collectives apart: they slow the device down
  double forward_launches = 0, backward_launches = 0;  // by the host, beside all of the above
  double overheads = 0;                                // of all: fixed costs of layers and stages
  double weights = 0;                      // of backward: gradients of the weights, which can wait
  double micro_bytes = 0, step_bytes = 0;  // given to collectives

  void add(const Phases& other, double times);
  // What hides an operation at the end of a step.
  Lanes& end_of(const orch_op& op) {
    if (op.hidden != ORCH_UNDER_FORWARD) return step_hidden;
    return op.kind == ORCH_COLLECTIVE ? late_gathers : late;
  }
};

// What of the hidden part sticks out, when only a share of the open part can cover it. Late copies
// and the host's work take nothing from what the device computes: all of it.
double exposed(const Lanes& hidden, double open, double overlap);

// What a micro-batch takes forward and backward: what the device does, or the host where it
// launches more slowly than the device works.
struct Passed {
  double forward = 0, backward = 0;
  double forward_waits = 0, backward_waits = 0;  // of these, for the host
};
Passed passed(const Phases& phases, double overlap);

// Asks a run's backend for its work.
using AskWork = std::function<Status(const plan::Run& run, backend::Work& work)>;

// Prices the work that a backend describes on the run's partition. Holds scratch space: one per
// thread, used for many runs.
class Estimator {
 public:
  plan::Estimate estimate(const plan::Run& run, const backend::Work& work);

  // The same with another partition's constants than the run's own.
  plan::Estimate estimate(const plan::Run& run, const backend::Work& work,
                          const plan::Partition& at);

  // Only the step time, for those who fit.
  double step_seconds(const plan::Run& run, const backend::Work& work, const plan::Partition& at);

  // The same with items: time of the slowest stage, and memory by stage where the work was asked
  // for with its formulas, not only its names.
  plan::Estimate explain(const plan::Run& run, const backend::Work& work);
  plan::Estimate explain(const plan::Run& run, const backend::Work& work,
                         const plan::Partition& at);

  // Fills the schedule of a run's estimate, and days and GPU-hours from it. Phases of the ramp-up
  // on fewer nodes are asked for and priced at their own layout, and must fit as well; until then
  // they count at the costs of the full one.
  Status schedule(const plan::Run& run, const AskWork& ask, plan::Estimate& out);

 private:
  struct Stage {
    double micro = 0;    // seconds of one micro-batch
    double fixed = 0;    // of it: fixed costs, and waits for the host
    double weights = 0;  // of it: gradients of the weights
    double end = 0;      // seconds after the last one
    double count = 1;    // stages alike
    double bytes = 0;    // given to collectives in a step
  };

  // Where the run is priced: its partition on its stack. Runs of one search share it.
  const plan::Partition& place_of(const plan::Run& run);
  Status add_others(const plan::Run& run, const AskWork& ask, plan::Estimate& out);
  void price_blocks(const plan::Run& run, const backend::Work& work);
  Phases stage_phases(const backend::Work& work, const backend::Stages& stages) const;
  void price_stages(const backend::Work& work);
  void add_stages(const backend::Work& work, plan::Estimate& out);
  void total_time(const plan::Run& run, const backend::Work& work, plan::Estimate& out);
  void total_memory(const plan::Run& run, const backend::Work& work, plan::Estimate& out);
  void explain_time(const plan::Run& run, const backend::Work& work, plan::Estimate& out) const;
  void explain_memory(const backend::Work& work, plan::Estimate& out) const;

  const plan::Partition* at_ = nullptr;  // the constants in use
  std::vector<Phases> blocks_;
  std::vector<Stage> stages_;
  std::vector<double> device_;         // bytes by stage
  std::vector<double> settled_;        // of them, those that come once and stay
  std::vector<double> communicators_;  // of them, what collectives hold
  std::vector<double> host_;
  std::size_t slowest_ = 0;  // in stages_
  std::size_t last_to_end_ = 0;
  double once_through_ = 0;  // seconds of one micro-batch through all stages
  double bubble_ = 0;
  double grown_ = 1;       // times as long, for waiting for the slowest node
  backend::Work part_;     // of a phase
  UnseenSettings unseen_;  // of plans, whose partitions outlive them

  struct Place {
    const plan::Partition* partition = nullptr;  // as the run names it
    const plan::Strategy* strategy = nullptr;
    int engine = -1;  // which of the settings says it
    plan::Value value;
    std::string stack, trainer;
    std::vector<const plan::OnStack*>
        stacks;  // which of several is nearest differs from run to run
    const plan::Partition* at = nullptr;
  };
  Place place_;
};

// Fills what follows from the step time: rates, days, GPU-hours.
void derive_rates(const plan::Run& run, bool recompute, plan::Estimate& out);

}  // namespace orch::estimate
