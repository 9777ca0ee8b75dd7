#include "core/app/calibrate.h"

#include <algorithm>
#include <numeric>
#include <set>

#include "core/base/text.h"
#include "core/plan/stack.h"
#include "core/price/estimate/estimate.h"
#include "core/record/planned.h"

namespace orch::app {
namespace {

using published::JudgedSample, published::PublishedSample;

// Same chips, nodes and links: measurements on one are valid for the other.
bool alike(const plan::Partition& a, const plan::Partition& b) {
  return &a == &b || (a.gpu.peak("fp16").value == b.gpu.peak("fp16").value &&
                      a.gpu.memory_bandwidth.value == b.gpu.memory_bandwidth.value &&
                      a.gpus_per_node == b.gpus_per_node && a.domain() == b.domain() &&
                      a.intra_node.bandwidth.value == b.intra_node.bandwidth.value &&
                      a.network.bandwidth.value == b.network.bandwidth.value);
}

std::size_t machine_for(const PublishedSample& sample, FitInput& out) {
  const auto* cluster = sample.run.cluster.get();
  const auto* partition = sample.run.partition;
  for (std::size_t m = 0; m < out.machines.size(); ++m) {
    auto& all = out.machines[m].partitions;
    if (out.clusters[m] != cluster || !alike(*all.front(), *partition)) continue;
    if (std::find(all.begin(), all.end(), partition) == all.end()) all.push_back(partition);
    return m;
  }
  const auto& known = partition->calibration;
  out.machines.push_back({{partition}, known ? known->eras : std::vector<plan::SoftwareEra>{}});
  out.clusters.push_back(cluster);
  return out.machines.size() - 1;
}

int stack_for(const PublishedSample& sample, FitInput& out) {
  const auto* found = plan::stack_of(sample.run);
  if (!found) return -1;
  for (std::size_t s = 0; s < out.stacks.size(); ++s)
    if (out.stacks[s] == found->stack) return static_cast<int>(s);
  out.stacks.push_back(found->stack);
  return static_cast<int>(out.stacks.size()) - 1;
}

Status work_of(const App& app, const plan::Run& run, const estimate::LeftOutTerms& without,
               backend::Work& work) {
  const auto& backend = app.backends().of(*run.strategy);
  const auto names = without.empty() ? backend::WorkTexts::none : backend::WorkTexts::names;
  if (auto status = backend.work(run, names, work); !status) return status.error();
  without.apply(work);
  return {};
}

}  // namespace

plan::Partition FitInput::place(const calibrate::FitResult& fitted, std::size_t sample) const {
  const auto& o = observations[sample];
  const auto at = plan::calibrated(*o.run.partition, fitted.machines[o.machine]);
  if (o.stack < 0) return at;
  const auto& stack = fitted.stacks[static_cast<std::size_t>(o.stack)];
  return plan::on_stack(at, std::make_shared<const plan::Stack>(stack));
}

std::vector<std::size_t> FitInput::circles() const {
  std::vector<std::size_t> leader(machines.size() + stacks.size());
  std::iota(leader.begin(), leader.end(), 0);
  const auto find = [&](std::size_t at) {
    while (leader[at] != at) at = leader[at];
    return at;
  };
  for (const auto& o : observations)
    if (o.stack >= 0)
      leader[find(machines.size() + static_cast<std::size_t>(o.stack))] = find(o.machine);
  return mapped(observations, [&](const auto& o) { return find(o.machine); });
}

calibrate::FitResult FitInput::fit(calibrate::FitOptions options,
                                   const std::function<bool(std::size_t)>& use) const {
  std::vector<const calibrate::Observation*> used;
  for (std::size_t i = 0; i < observations.size(); ++i)
    used.push_back(use(i) ? &observations[i] : nullptr);
  return calibrate::fit(machines, stacks, used, options);
}

Result<std::set<std::string>> ingredients(const App& app,
                                          const std::vector<PublishedSample>& samples) {
  std::set<std::string> names;
  backend::Work work;
  for (const auto& sample : samples) {
    const auto& backend = app.backends().of(*sample.run.strategy);
    if (auto status = backend.work(sample.run, backend::WorkTexts::names, work); !status)
      return status.error();
    estimate::add_names(work, names);
  }
  return names;
}

Result<FitInput> study(const App& app, const std::vector<PublishedSample>& samples,
                       const estimate::LeftOutTerms& without) {
  FitInput out;
  for (const auto& sample : samples) {
    calibrate::Observation observation;
    observation.run = sample.run;
    observation.source = sample.source;
    observation.table = sample.source + "/" + sample.table;
    for (const auto& setting : sample.inferred)  // the kind of software is not a setting of the run
      if (!setting.starts_with("stack ")) observation.inferred.push_back(setting);
    observation.day = sample.date;
    observation.step_seconds = sample.step_seconds.value_or(0);
    observation.memory = sample.memory_bytes.value_or(0);
    observation.memory_of = sample.memory_of;
    observation.machine = machine_for(sample, out);
    observation.stack = stack_for(sample, out);
    if (auto status = work_of(app, sample.run, without, observation.work); !status)
      return status.error();
    out.observations.push_back(std::move(observation));
  }
  if (without.has("eras"))
    for (auto& machine : out.machines) machine.eras.clear();
  return out;
}

Result<std::vector<JudgedSample>> judge_left_out(const App& app,
                                                 const std::vector<PublishedSample>& samples,
                                                 const std::vector<std::string>& folds,
                                                 const std::set<std::string>& apart,
                                                 const estimate::LeftOutTerms& without) {
  const auto all = study(app, samples, without);
  if (!all) return all.error();
  const auto circles = all->circles();
  const auto usable = [&](std::size_t i) {
    return !apart.contains(samples[i].id) && !samples[i].assumed_sizes;
  };
  const auto whole = all->fit({}, usable);
  std::vector<JudgedSample> judged(samples.size());
  estimate::Estimator estimator;
  for (const auto& fold : std::set<std::string>(folds.begin(), folds.end())) {
    if (interrupted()) return Error{"interrupted", "not all rows were predicted", ""};
    std::set<std::size_t> near;
    for (std::size_t i = 0; i < samples.size(); ++i)
      if (folds[i] == fold) near.insert(circles[i]);
    calibrate::FitOptions options;
    options.near = &whole;
    const auto fitted = all->fit(options, [&](std::size_t i) {
      return folds[i] != fold && near.contains(circles[i]) && usable(i);
    });
    for (std::size_t i = 0; i < samples.size(); ++i) {
      if (folds[i] != fold) continue;
      const auto& o = all->observations[i];
      judged[i] = {&samples[i],
                   record::estimated_of(estimator.estimate(o.run, o.work, all->place(fitted, i)),
                                        fitted.machines[o.machine].era(o.day))};
    }
  }
  return judged;
}

Result<std::vector<JudgedSample>> judge_as_is(const App& app,
                                              const std::vector<PublishedSample>& samples,
                                              bool with_fitted,
                                              const estimate::LeftOutTerms& without) {
  return published::judge(samples,
                          [&, estimator = estimate::Estimator(), work = backend::Work()](
                              const PublishedSample& sample) mutable -> Result<plan::Estimate> {
                            const auto& run = sample.run;
                            if (auto status = work_of(app, run, without, work); !status)
                              return status.error();
                            if (!with_fitted) return estimator.estimate(run, work, *run.partition);
                            const double era =
                                without.has("eras") ? 1 : run.partition->era(sample.date);
                            return record::estimated_of(estimator.estimate(run, work), era);
                          });
}

}  // namespace orch::app
