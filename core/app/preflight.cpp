#include "core/app/preflight.h"

#include <fmt/format.h>

#include <set>

#include "core/base/text.h"
#include "core/app/launch_runs.h"
#include "core/run/launch/slurm/preflight.h"

namespace orch::app {

Status preflight(Session& session, const std::vector<const plan::Planned*>& runs) {
  std::set<launch::Ask> asks;
  for (const auto* planned : runs) {
    const auto& run = planned->run;
    if (way_to_launch(run, session.slurm()) != "slurm") continue;
    launch::Ask ask;
    ask.place = fmt::format("{}: {}", printable(run.cluster->file), run.partition->name);
    ask.partition = run.job.partition;
    ask.time = run.job.time;
    ask.nodes = run.nodes + run.job.spare_nodes.value_or(0);
    ask.gres = run.job.gres.empty()
                   ? fmt::format("gpu:{}", std::min(run.gpus, run.partition->gpus_per_node))
                   : run.job.gres;
    ask.constraint = run.job.constraint;
    ask.account = run.job.account;
    ask.qos = run.job.qos;
    asks.insert(std::move(ask));
  }
  const auto errors =
      launch::preflight(session.slurm_executor()->client(), {asks.begin(), asks.end()});
  if (!errors) return errors.error();
  if (!errors->empty()) return Errors(errors->begin(), errors->end());
  return {};
}

}  // namespace orch::app
