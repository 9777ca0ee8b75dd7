#include "core/report/columns.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/base/units.h"

namespace orch::report {
namespace {

using plan::Planned;

std::string significant(double value) {
  if (value >= 1000) return group_digits(value);
  if (value > 0 && value < 0.095) return fmt::format("{:.1g}", value);
  return fmt::format("{:.{}f}", value, value >= 100 ? 0 : value >= 10 ? 1 : 2);
}

std::string strategy(const Planned& p) {
  const auto variant = plan::variant(p.run);
  return p.run.strategy->name + (variant.empty() ? "" : " " + variant);
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
      {"strategy", 0, strategy},
      {"model", 2, [](const Planned& p) { return p.run.model.name; }},
      {"seq", 6, count([](const Run& r) { return r.model.seq; })},
      {"partition", 2,
       [](const Planned& p) { return p.run.cluster->name + "/" + p.run.partition->name; }},
      {"gpus", 0, count([](const Run& r) { return r.gpus; })},
      {"TP", 1, count([](const Run& r) { return r.layout.tensor_parallel; })},
      {"PP", 1, count([](const Run& r) { return r.layout.pipeline_parallel; })},
      {"DP", 3, count([](const Run& r) { return r.layout.data_parallel; })},
      {"micro", 1, count([](const Run& r) { return r.batch.micro_batch; })},
      {"accum", 4, count([](const Run& r) { return r.batch.accumulate; })},
      {"global", 5, count([](const Run& r) { return r.batch.global_batch; })},
      {"fit", 0, [](const Planned& p) { return std::string(name(p.estimate.fit)); }},
      {"peak GiB", 2, [](const Planned& p) { return format_gib(p.estimate.peak_memory); }},
      {"step s", 3, amount([](const Estimate& e) { return e.step_seconds; })},
      {"TFLOPs", 4, amount([](const Estimate& e) { return e.tflops_per_gpu; })},
      {"tokens/s", 5, amount([](const Estimate& e) { return e.tokens_per_second; })},
      {"days/100B", 0, amount([](const Estimate& e) { return e.days_per_100b_tokens; })},
      {"days", 1, amount([](const Estimate& e) { return e.days_to_train; })},
      {"GPU-hours", 2, amount([](const Estimate& e) { return e.gpu_hours; })},
  };
  return kColumns;
}

Split split_columns(const std::vector<const Planned*>& runs) {
  Split split;
  for (const auto& column : columns()) {
    const bool same = runs.size() > 1 && column.title != "strategy" && column.title != "fit" &&
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
