#include "core/show/tables/search.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/show/tables/json.h"
#include "core/show/tables/ranking.h"

namespace orch::tables {
namespace {

using Runs = std::vector<const plan::Planned*>;

struct List {
  const char* name;   // in JSON and CSV
  const char* title;  // for people
  const Runs* runs;
  Measure measure = Measure::time;
};

std::vector<List> best_lists(const Searched& searched) {
  return {{"time", "Best by time to train", &searched.time},
          {"strategy", "Best of each strategy", &searched.strategies},
          {"gpu_hours", "Best by GPU-hours", &searched.gpu_hours, Measure::gpu_hours},
          {"headroom", "Best by memory headroom", &searched.headroom, Measure::memory}};
}

constexpr std::size_t kFrontRows = 20;  // of the table
constexpr const char* kFront = "Pareto front: faster only with more memory";
constexpr const char* kFrontOfCounts =
    "Pareto front: faster only with more memory or more GPU-hours";

const char* front_title(const Searched& searched) {
  const auto& runs = searched.pareto;
  const bool same = std::all_of(runs.begin(), runs.end(), [&](const plan::Planned* run) {
    return run->run.gpus == runs.front()->run.gpus;
  });
  return same ? kFront : kFrontOfCounts;
}

RankedRuns as_result(const Searched& searched, const Runs& runs, Measure measure = Measure::time) {
  static const std::vector<plan::Rejected> kNone;
  RankedRuns result;
  result.experiment = searched.experiment;
  result.rejected = &kNone;
  result.runs = runs;
  result.measure = measure;
  return result;
}

Json entry(const plan::Planned& run, const plan::Experiment& experiment) {
  auto json = run_fields(run);
  json["layers"] = run.run.model.layers;
  json["hidden"] = run.run.model.hidden;
  json["heads"] = run.run.model.heads;
  json["headroom"] = 1 - run.estimate.peak_memory / run.estimate.usable_memory;
  add_limits(run, experiment, json);
  return json;
}

void add_entries(const Searched& searched, const List& list, Json& to) {
  RankedRuns ranked;
  ranked.runs = *list.runs;
  ranked.measure = list.measure;
  const auto places = ranks(ranked);
  for (std::size_t i = 0; i < places.size(); ++i) {
    Json json{{"rank", places[i].place}, {"tie", places[i].tie}};
    if (list.name) json["for"] = list.name;
    json.update(entry(*(*list.runs)[i], *searched.experiment));
    to.push_back(std::move(json));
  }
}

bool starts_with(const Runs& runs, const Runs& first) {
  const auto same = [](const plan::Planned* a, const plan::Planned* b) { return a->run.id == b->run.id; };
  return runs.size() >= first.size() && std::equal(first.begin(), first.end(), runs.begin(), same);
}

// On a terminal a list that says what the first one has said already is not printed again.
std::string section(const Searched& searched, const List& list, const Screen& screen) {
  if (list.runs->empty()) return "";
  if (screen.markdown)
    return heading(list.title, screen) +
           table(as_result(searched, *list.runs, list.measure), screen, 0);
  const auto title = paint(list.title, "1", screen);
  if (list.runs != &searched.time && starts_with(searched.time, *list.runs))
    return title + ": the same\n";
  auto shown = *list.runs;
  if (list.runs == &searched.pareto && shown.size() > kFrontRows) shown.resize(kFrontRows);
  auto out = title + "\n" + table(as_result(searched, shown, list.measure), screen, 0);
  if (shown.size() < list.runs->size())
    out += fmt::format("… and {} slower ones (--format json has all)\n",
                       list.runs->size() - shown.size());
  return out;
}

}  // namespace

std::string json(const Searched& searched) {
  Json best = Json::array();
  for (const auto& list : best_lists(searched)) add_entries(searched, list, best);
  Json pareto = Json::array();
  add_entries(searched, {nullptr, kFront, &searched.pareto}, pareto);
  return dump({{"version", 1},
               {"experiment", searched.experiment->name},
               {"space", std::llround(searched.space)},
               {"evaluated", std::llround(searched.evaluated)},
               {"rejected", std::llround(searched.rejected)},
               {"oom", std::llround(searched.oom)},
               {"seconds", searched.seconds},
               {"complete", searched.complete},
               {"keeps_budget", searched.keeps_budget},
               {"best", std::move(best)},
               {"pareto", std::move(pareto)}});
}

std::string csv(const Searched& searched) {
  auto lists = best_lists(searched);
  lists.push_back({"pareto", kFront, &searched.pareto});
  CsvWriter out("list," + csv_header());
  for (const auto& list : lists)
    for (auto& row : csv_rows(as_result(searched, *list.runs, list.measure))) {
      row.insert(row.begin(), list.name);
      out.row(row);
    }
  return out.text();
}

std::string table(const Searched& searched, const Screen& screen) {
  std::string out;
  auto lists = best_lists(searched);
  lists.push_back({"pareto", front_title(searched), &searched.pareto});
  for (const auto& list : lists)
    if (const auto text = section(searched, list, screen); !text.empty())
      out += (out.empty() ? "" : "\n") + text;
  return out;
}

}  // namespace orch::tables
