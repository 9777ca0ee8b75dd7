#include "core/show/tables/columns.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <unordered_map>

#include "core/base/text.h"
#include "core/base/units.h"
#include "core/show/tables/ranking.h"
#include "core/show/tables/words.h"

namespace orch::tables {
namespace {

using plan::Planned;

template <class F>
auto count(F field) {
  return [field](const Planned& p) { return std::to_string(field(p.run)); };
}

template <class F>
auto amount(F field) {
  return [field](const Planned& p) { return significant(field(p.estimate)); };
}

// "deepspeed stage=1": the strategy and its settings, without those that are said already.
std::string strategy_text(const Planned& planned, const Common& common) {
  std::string out = planned.run.strategy->name;
  const auto said = common.find(out);
  for (const auto& setting : split(plan::variant(planned.run), ' '))
    if (!setting.empty() && (said == common.end() || !said->second.contains(setting)))
      out += " " + setting;
  return out;
}

std::function<std::string(const Planned&)> rank_column(const Result& result) {
  std::unordered_map<const Planned*, std::string> texts;
  const auto all = ranks(result);
  for (std::size_t i = 0; i < all.size(); ++i) texts[result.runs[i]] = all[i].text();
  return [texts = std::move(texts)](const Planned& p) { return texts.at(&p); };
}

std::function<std::string(const Planned&)> end_column(const plan::Calendar& calendar) {
  return [calendar](const Planned& p) {
    const auto end = calendar.end(p.estimate.portions(p.estimate.days_to_train));
    return end ? format_date(*end) : std::string("after 9999");
  };
}

}  // namespace

std::vector<Column> columns(const Result& result, const Common& common) {
  using plan::Estimate;
  using plan::Run;
  std::vector<Column> made{
      {"#", 0, false, rank_column(result)},
      {std::string(kStrategy), 0, false,
       [common](const Planned& p) { return strategy_text(p, common); }},
      {"model", 1, true, [](const Planned& p) { return p.run.model.name; }},
      {"seq", 1, true, count([](const Run& r) { return r.model.seq; })},
      {"partition", 1, true,
       [](const Planned& p) { return p.run.cluster->name + "/" + p.run.partition->name; }},
      {"gpus", 0, true, count([](const Run& r) { return r.gpus; })},
      {"TP", 1, true, count([](const Run& r) { return r.layout.tensor_parallel; })},
      {"PP", 1, true, count([](const Run& r) { return r.layout.pipeline_parallel; })},
      {"DP", 8, true, count([](const Run& r) { return r.layout.data_parallel; })},
      {"micro", 1, true, count([](const Run& r) { return r.batch.micro_batch; })},
      {"accum", 1, true, count([](const Run& r) { return r.batch.accumulate; })},
      {"global", 8, true, count([](const Run& r) { return r.batch.global_batch; })},
      {"fit", 0, false, [](const Planned& p) { return std::string(name(p.estimate.fit)); }},
      {"peak GiB", 4, false, [](const Planned& p) { return format_gib(p.estimate.peak_memory); }},
      {"step s", 5, false, amount([](const Estimate& e) { return e.step_seconds; })},
      {"TFLOPs", 6, false, amount([](const Estimate& e) { return e.tflops_per_gpu; })},
      {"tokens/s", 7, false, amount([](const Estimate& e) { return e.tokens_per_second; })},
      {"days/100B", 0, false, amount([](const Estimate& e) { return e.days_per_100b_tokens; })},
      {"days", 2, false, amount([](const Estimate& e) { return e.days_to_train; })},
      {"90 % range", 3, false,
       [](const Planned& p) { return range_text(p.estimate.range_of(p.estimate.days_to_train)); }},
      {"GPU-hours", 4, false, amount([](const Estimate& e) { return e.gpu_hours; })},
  };
  if (result.experiment->calendar.start)
    made.push_back({"ends", 3, false, end_column(result.experiment->calendar)});
  if (result.runs.size() < 2) made.erase(made.begin());  // nothing to rank
  return made;
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

Split split_columns(const std::vector<Column>& columns, const std::vector<const Planned*>& runs) {
  Split split;
  for (const auto& column : columns) {
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

}  // namespace orch::tables
