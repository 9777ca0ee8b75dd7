#include "core/report/columns.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "core/base/text.h"
#include "core/base/units.h"

namespace orch::report {
namespace {

using plan::Planned;

std::string significant(double value) {
  if (value >= 1000) return group_digits(value);
  if (value > 0 && value < 0.095) return fmt::format("{:.1g}", value);
  return fmt::format("{:.{}f}", value, value >= 100 ? 0 : value >= 10 ? 1 : 2);
}

template <class F>
auto count(F field) {
  return [field](const Planned& p) { return std::to_string(field(p.run)); };
}

template <class F>
auto amount(F field) {
  return [field](const Planned& p) { return significant(field(p.estimate)); };
}

}  // namespace

const std::vector<Column>& columns() {
  using plan::Estimate;
  using plan::Run;
  static const std::vector<Column> kColumns{
      {"strategy", 0, false, [](const Planned& p) { return strategy_text(p, {}); }},
      {"model", 1, true, [](const Planned& p) { return p.run.model.name; }},
      {"seq", 1, true, count([](const Run& r) { return r.model.seq; })},
      {"partition", 1, true,
       [](const Planned& p) { return p.run.cluster->name + "/" + p.run.partition->name; }},
      {"gpus", 0, true, count([](const Run& r) { return r.gpus; })},
      {"TP", 1, true, count([](const Run& r) { return r.layout.tensor_parallel; })},
      {"PP", 1, true, count([](const Run& r) { return r.layout.pipeline_parallel; })},
      {"DP", 7, true, count([](const Run& r) { return r.layout.data_parallel; })},
      {"micro", 1, true, count([](const Run& r) { return r.batch.micro_batch; })},
      {"accum", 1, true, count([](const Run& r) { return r.batch.accumulate; })},
      {"global", 7, true, count([](const Run& r) { return r.batch.global_batch; })},
      {"fit", 0, false, [](const Planned& p) { return std::string(name(p.estimate.fit)); }},
      {"peak GiB", 3, false, [](const Planned& p) { return format_gib(p.estimate.peak_memory); }},
      {"step s", 4, false, amount([](const Estimate& e) { return e.step_seconds; })},
      {"TFLOPs", 5, false, amount([](const Estimate& e) { return e.tflops_per_gpu; })},
      {"tokens/s", 6, false, amount([](const Estimate& e) { return e.tokens_per_second; })},
      {"days/100B", 0, false, amount([](const Estimate& e) { return e.days_per_100b_tokens; })},
      {"days", 2, false, amount([](const Estimate& e) { return e.days_to_train; })},
      {"GPU-hours", 3, false, amount([](const Estimate& e) { return e.gpu_hours; })},
  };
  return kColumns;
}

Common common_settings(const std::vector<const Planned*>& runs) {
  Common common;
  for (const auto* run : runs) {
    const auto settings = split(plan::variant(run->run), ' ');
    const std::set<std::string> mine(settings.begin(), settings.end());
    const auto [place, fresh] = common.try_emplace(run->run.strategy->name, mine);
    if (!fresh) std::erase_if(place->second, [&](const auto& s) { return !mine.contains(s); });
  }
  for (auto& [strategy, settings] : common) settings.erase("");
  return common;
}

std::string strategy_text(const Planned& planned, const Common& common) {
  std::string out = planned.run.strategy->name;
  const auto said = common.find(out);
  for (const auto& setting : split(plan::variant(planned.run), ' '))
    if (!setting.empty() && (said == common.end() || !said->second.contains(setting)))
      out += " " + setting;
  return out;
}

Split split_columns(const std::vector<const Planned*>& runs) {
  Split split;
  for (const auto& column : columns()) {
    const bool same = column.input && runs.size() > 1 &&
                      std::all_of(runs.begin(), runs.end(), [&](const Planned* p) {
                        return column.text(*p) == column.text(*runs.front());
                      });
    if (same)
      split.common.push_back(column.title + " " + column.text(*runs.front()));
    else
      split.varying.push_back(&column);
  }
  return split;
}

}  // namespace orch::report
