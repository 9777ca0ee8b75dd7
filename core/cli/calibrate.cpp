#include "core/cli/calibrate.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "core/base/text.h"
#include "core/estimate/estimate.h"

namespace orch::cli {
namespace {

using measured::Judged, measured::Prediction, measured::Sample;

// Sharded and plain data parallelism are the same trainer around another way to communicate.
std::vector<std::string> family(const std::string& backend) {
  if (backend == "ddp" || backend == "zero3") return {"ddp", "zero3"};
  return {backend};
}

// The same chips, nodes and links: what is measured on one holds for the other.
bool alike(const plan::Partition& a, const plan::Partition& b) {
  return &a == &b || (a.gpu.peak_fp16.value == b.gpu.peak_fp16.value &&
                      a.gpu.memory_bandwidth.value == b.gpu.memory_bandwidth.value &&
                      a.gpus_per_node == b.gpus_per_node &&
                      a.intra_node.bandwidth.value == b.intra_node.bandwidth.value &&
                      a.network.bandwidth.value == b.network.bandwidth.value);
}

Group group_for(const Sample& sample) {
  Group group;
  group.cluster = sample.run.cluster.get();
  group.partitions = {sample.run.partition};
  const auto& backend = sample.run.strategy->backend;
  const auto* present = sample.run.partition->calibration(backend);
  group.backends = present ? present->backends : family(backend);
  group.present = present;
  if (present) group.eras = present->eras;
  return group;
}

Status work_of(const App& app, const plan::Run& run, const estimate::Without& without,
               backend::Work& work) {
  const auto& backend = app.backends().of(*run.strategy);
  if (auto status = backend.work(run, !without.empty(), work); !status) return status.error();
  without.apply(work);
  return {};
}

}  // namespace

measured::Prediction prediction_of(const plan::Estimate& estimate, const Sample& sample,
                                   double era) {
  measured::Prediction out;
  out.step_seconds = estimate.step_seconds * era;
  out.step_low = estimate.step_low * era;
  out.step_high = estimate.step_high * era;
  const double share = sample.first_stage ? estimate.first_stage_memory / estimate.peak_memory : 1;
  out.memory_bytes = share * estimate.peak_memory;
  out.memory_low = share * estimate.memory_low;
  out.memory_high = share * estimate.memory_high;
  out.peak_bytes = estimate.peak_memory;
  out.fit = estimate.fit;
  return out;
}

std::vector<Group> groups_of(const std::vector<Sample>& samples) {
  std::vector<Group> groups;
  for (std::size_t i = 0; i < samples.size(); ++i) {
    auto wanted = group_for(samples[i]);
    const auto found = std::find_if(groups.begin(), groups.end(), [&](const Group& group) {
      return group.cluster == wanted.cluster && group.backends == wanted.backends &&
             alike(*group.partitions.front(), *wanted.partitions.front());
    });
    const auto* partition = wanted.partitions.front();
    auto& group = found == groups.end() ? groups.emplace_back(std::move(wanted)) : *found;
    auto& all = group.partitions;
    if (std::find(all.begin(), all.end(), partition) == all.end()) all.push_back(partition);
    group.members.push_back(i);
  }
  return groups;
}

Result<std::set<std::string>> ingredients(const App& app, const std::vector<Sample>& samples) {
  std::set<std::string> names;
  backend::Work work;
  for (const auto& sample : samples) {
    const auto& backend = app.backends().of(*sample.run.strategy);
    if (auto status = backend.work(sample.run, true, work); !status) return status.error();
    estimate::add_names(work, names);
  }
  return names;
}

Result<std::vector<fit::Observation>> observe(const App& app, const std::vector<Sample>& samples,
                                              const estimate::Without& without) {
  std::vector<fit::Observation> out;
  for (const auto& sample : samples) {
    fit::Observation observation;
    observation.run = sample.run;
    observation.day = sample.date;
    observation.step_seconds = sample.step_seconds.value_or(0);
    observation.memory = sample.memory_bytes.value_or(0);
    observation.first_stage = sample.first_stage;
    if (auto status = work_of(app, sample.run, without, observation.work); !status)
      return status.error();
    out.push_back(std::move(observation));
  }
  return out;
}

std::string rows_text(const std::vector<Sample>& samples, const std::vector<std::size_t>& members) {
  std::set<std::string> sources;
  std::size_t rows = 0;
  for (const auto i : members) {
    if (!samples[i].step_seconds && !samples[i].memory_bytes) continue;
    sources.insert(printable(samples[i].source));
    ++rows;
  }
  return fmt::format("{} row{} of {}", rows, rows == 1 ? "" : "s",
                     join(std::vector<std::string>(sources.begin(), sources.end()), ", "));
}

plan::Calibration fit_group(const Group& group, const std::vector<Sample>& samples,
                            const std::vector<fit::Observation>& observations, Start start,
                            const std::function<bool(std::size_t)>& use) {
  const auto* present = start == Start::present ? group.present : nullptr;
  std::vector<fit::Observation> adjusted;
  std::vector<std::size_t> members;
  for (const auto i : group.members) {
    if (!use(i)) continue;
    members.push_back(i);
    if (!present) continue;
    adjusted.push_back(observations[i]);
    adjusted.back().step_seconds /= present->era(observations[i].day);
  }
  std::vector<const fit::Observation*> chosen;
  for (std::size_t k = 0; k < members.size(); ++k)
    chosen.push_back(present ? &adjusted[k] : &observations[members[k]]);
  const auto& base = *group.partitions.front();
  const auto rows = rows_text(samples, members);
  if (!present) return fit::fit(base, group.backends, chosen, rows, group.eras);
  auto made = fit::fit(fit::applied(*present, base), group.backends, chosen, rows);
  made.constants.insert(present->constants.begin(), present->constants.end());
  made.eras = present->eras;
  return made;
}

Result<std::vector<Judged>> judge_left_out(const App& app, const std::vector<Sample>& samples,
                                           const std::vector<std::string>& folds,
                                           const std::set<std::string>& apart,
                                           const estimate::Without& without) {
  const auto observations = observe(app, samples, without);
  if (!observations) return observations.error();
  std::vector<Judged> judged(samples.size());
  estimate::Estimator estimator;
  for (auto& group : groups_of(samples)) {
    if (without.has("eras")) group.eras.clear();
    std::set<std::string> names;
    for (const auto i : group.members) names.insert(folds[i]);
    for (const auto& name : names) {
      if (interrupted()) return Error{"interrupted", "not all rows were predicted", ""};
      const auto calibration = fit_group(
          group, samples, *observations, Start::datasheet,
          [&](std::size_t i) { return folds[i] != name && !apart.contains(samples[i].id); });
      for (const auto i : group.members) {
        if (folds[i] != name) continue;
        const auto& o = (*observations)[i];
        judged[i] = {&samples[i],
                     prediction_of(estimator.estimate(o.run, o.work,
                                                      fit::applied(calibration, *o.run.partition)),
                                   samples[i], calibration.era(o.day))};
      }
    }
  }
  return judged;
}

Result<std::vector<Judged>> judge_as_is(const App& app, const std::vector<Sample>& samples,
                                        bool with_fitted, const estimate::Without& without) {
  return measured::judge(
      samples,
      [&, estimator = estimate::Estimator(),
       work = backend::Work()](const Sample& sample) mutable -> Result<Prediction> {
        const auto& run = sample.run;
        if (auto status = work_of(app, run, without, work); !status) return status.error();
        const auto* calibration = run.partition->calibration(run.strategy->backend);
        if (!with_fitted || !calibration)
          return prediction_of(estimator.estimate(run, work, *run.partition), sample, 1);
        const double era = without.has("eras") ? 1 : calibration->era(sample.date);
        return prediction_of(estimator.estimate(run, work), sample, era);
      });
}

}  // namespace orch::cli
