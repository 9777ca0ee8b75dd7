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

// Seconds of work that may overlap something: transfers between ranks and to the host, and the
// host's own work beside them. The slower of the two is waited for.
struct OverlapLanes {
  double links = 0, host = 0;

  double& of(const orch_op& op) { return op.kind == ORCH_HOST ? host : links; }
  double longest() const { return std::max(links, host); }
  void add(const OverlapLanes& other, double times);
};

// Seconds of one block or stage, by phase. "open" time cannot be hidden; "hidden" time may overlap
// the open part of its phase (in step: the last backward). "late" time overlaps the next step's
// first forward.
struct StepPhases {
  double forward_open = 0, backward_open = 0, step_open = 0;  // backward includes recomputation
  OverlapLanes forward_hidden, backward_hidden, step_hidden;
  OverlapLanes late, late_gathers;  // collectives are separate: they slow the device down
  double forward_launches = 0, backward_launches = 0;  // by the host, in parallel to the above
  double overheads = 0;                                // included above: layers, stages
  double weights = 0;                                  // part of backward that can be delayed
  double micro_bytes = 0, step_bytes = 0;              // passed to collectives

  void add(const StepPhases& other, double times);
  // The lanes of an operation at the end of a step, by what hides it.
  OverlapLanes& end_of(const orch_op& op) {
    if (op.hidden != ORCH_UNDER_FORWARD) return step_hidden;
    return op.kind == ORCH_COLLECTIVE ? late_gathers : late;
  }
};

// The part of hidden time that stays visible, if only the share `overlap` of the open part can
// cover it. Late copies and the host's work do not slow the device: the whole open part covers
// them.
double exposed(const OverlapLanes& hidden, double open, double overlap);

// The times of a micro-batch in forward and backward: those of the device, or of the host where it
// launches kernels more slowly than the device executes them.
struct PassTimes {
  double forward = 0, backward = 0;
  double forward_waits = 0, backward_waits = 0;  // the part that is waiting for the host
};
PassTimes passed(const StepPhases& phases, double overlap);

// Asks the run's backend for its work.
using AskWork = std::function<Status(const plan::Run& run, backend::Work& work)>;

// Estimates the time of the work that a backend describes, on the run's partition. Holds scratch
// space: one per thread, used for many runs.
class Estimator {
 public:
  plan::Estimate estimate(const plan::Run& run, const backend::Work& work);

  // Only the memory and whether it is too much, for which work needs no operations; the rest of out
  // stays.
  void memory(const plan::Run& run, const backend::Work& work, plan::Estimate& out);

  // The same with the constants of another partition.
  plan::Estimate estimate(const plan::Run& run, const backend::Work& work,
                          const plan::Partition& at);

  // Only the step time, for fits.
  double step_seconds(const plan::Run& run, const backend::Work& work, const plan::Partition& at);

  // The same with items: time of the slowest stage, and memory by stage if the work has formulas
  // and not only names.
  plan::Estimate explain(const plan::Run& run, const backend::Work& work);
  plan::Estimate explain(const plan::Run& run, const backend::Work& work,
                         const plan::Partition& at);

  // Fills the schedule of a run's estimate, and days and GPU-hours from it. Phases of the ramp-up
  // on fewer nodes are described and estimated with their own layout, and must fit as well; before
  // this call they count with the costs of the full one.
  Status schedule(const plan::Run& run, const AskWork& ask, plan::Estimate& out);

 private:
  struct Stage {
    double micro = 0;    // seconds of one micro-batch
    double fixed = 0;    // part of micro: fixed costs, and waits for the host
    double weights = 0;  // part of micro: weight gradients
    double end = 0;      // seconds after the last micro-batch
    double count = 1;    // number of identical stages
    double bytes = 0;    // passed to collectives in a step
  };

  // The constants for the run: its partition on its stack. Runs of one search share them.
  const plan::Partition& place_of(const plan::Run& run);
  Status add_others(const plan::Run& run, const AskWork& ask, plan::Estimate& out);
  void price_blocks(const plan::Run& run, const backend::Work& work);
  StepPhases stage_phases(const backend::Work& work, const backend::Stages& stages) const;
  void price_stages(const backend::Work& work);
  void add_stages(const backend::Work& work, plan::Estimate& out);
  void total_time(const plan::Run& run, const backend::Work& work, plan::Estimate& out);
  void total_memory(const plan::Run& run, const backend::Work& work, plan::Estimate& out);
  bool keeps_place(const plan::Run& run) const;
  void explain_time(const plan::Run& run, const backend::Work& work, plan::Estimate& out) const;
  void explain_memory(const backend::Work& work, plan::Estimate& out) const;

  const plan::Partition* at_ = nullptr;  // the constants in use
  std::vector<StepPhases> blocks_;
  std::vector<Stage> stages_;
  std::vector<double> device_;         // bytes by stage
  std::vector<double> settled_;        // part of device_ that is allocated once and stays
  std::vector<double> communicators_;  // part of device_ that collectives hold
  std::vector<double> host_;
  std::size_t slowest_ = 0;  // index in stages_
  std::size_t last_to_end_ = 0;
  double once_through_ = 0;  // seconds of one micro-batch through all stages
  double bubble_ = 0;
  double grown_ = 1;       // factor for waiting for the slowest node
  backend::Work part_;     // work of a phase
  UnseenSettings unseen_;  // for plans, whose partitions outlive this

  struct Place {
    const plan::Partition* partition = nullptr;  // as the run names it
    const plan::Strategy* strategy = nullptr;
    int engine = -1;  // index of the setting that names the engine
    int dtype = -1;   // index of the number format
    plan::Value value;
    std::string stack, trainer;
    // What the distance of stacks depends on.
    std::int64_t gpus = 0;
    double params = 0;
    plan::Value format;
    std::vector<const plan::StackOnPartition*>
        stacks;  // if several, the nearest differs from run to run
    const plan::Partition* at = nullptr;
  };
  Place place_;
};

// Computes what follows from the step time: rates, days, GPU-hours.
void derive_rates(const plan::Run& run, bool recompute, plan::Estimate& out);

}  // namespace orch::estimate
