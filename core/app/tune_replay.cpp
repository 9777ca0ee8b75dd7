#include "core/app/tune_replay.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>

#include "core/plan/tie.h"
#include "core/show/tables/words.h"

namespace orch::app {
namespace {

using published::JudgedSample;
using JudgedRows = std::vector<const JudgedSample*>;

constexpr std::size_t kFewest = 6;  // choices: among fewer, all can be measured

// A set of alternatives, as tune sees them.
struct ReplayedChoice {
  std::string source, model;
  std::int64_t gpus = 0;
  std::size_t choices = 0;
  tune::Replay replay;
};

// Rows with the same estimate are one choice, measured by their mean.
ReplayedChoice replayed(const JudgedRows& rows, const tune::TuneLimits& limits) {
  std::map<double, JudgedRows> choices;
  for (const auto* row : rows)
    choices[row->prediction.step_seconds / published::work_of(*row)].push_back(row);
  std::vector<tune::TuneCandidate> candidates;
  std::vector<double> times;
  std::vector<const plan::Run*> runs;
  for (const auto& [estimated, same] : choices) {
    const auto& first = *same.front();
    auto timing = plan::timing_of(first.prediction, first.sample->run.partition);
    timing.days = estimated;
    candidates.push_back({timing, {}});
    runs.push_back(&first.sample->run);
    times.push_back(std::accumulate(same.begin(), same.end(), 0.0,
                                    [](double sum, const JudgedSample* row) {
                                      return sum +
                                             *row->sample->step_seconds / published::work_of(*row);
                                    }) /
                    static_cast<double>(same.size()));
  }
  auto places = tune::places_of(runs);
  for (std::size_t i = 0; i < places.size(); ++i) candidates[i].place = std::move(places[i]);
  const auto& sample = *rows.front()->sample;
  ReplayedChoice out{sample.source,
                     tables::size_text(sample.run.model.params()),
                     sample.run.gpus,
                     times.size(),
                     {}};
  if (times.size() >= kFewest) out.replay = tune::replay(candidates, times, limits);
  return out;
}

std::string percent(double share) { return fmt::format("{:.1f}", 100 * share); }

show::Cell share_cell(double share) { return {share, percent(share)}; }

using Choices = std::vector<ReplayedChoice>;

std::string summary(const Choices& all, const tune::TuneLimits& limits) {
  if (all.empty()) return fmt::format("no set of alternatives has {} choices or more", kFewest);
  const auto mean = [&](auto read) {
    double sum = 0;
    for (const auto& choice : all) sum += read(choice);
    return sum / static_cast<double>(all.size());
  };
  const auto found = std::count_if(all.begin(), all.end(), [&](const auto& choice) {
    return choice.replay.regret <= limits.regret;
  });
  return fmt::format(
      "{} of {} within {:g} % of the fastest with at most {} measurements, {:.1f} on average; "
      "regret "
      "{:.1f} % on average, of the best estimate alone {:.1f} %, of as many runs at random {:.1f} "
      "%",
      found, all.size(), 100 * limits.regret, limits.measured,
      mean([](const auto& c) { return static_cast<double>(c.replay.measured.size()); }),
      100 * mean([](const auto& c) { return c.replay.regret; }),
      100 * mean([](const auto& c) { return c.replay.regret_estimate; }),
      100 * mean([](const auto& c) { return c.replay.regret_random; }));
}

}  // namespace

show::Answer replays_answer(const std::vector<JudgedSample>& judged,
                            const tune::TuneLimits& limits) {
  std::map<std::string, JudgedRows> sources;
  for (const auto& row : judged) sources[row.sample->source].push_back(&row);
  Choices all;
  for (const auto& [source, rows] : sources)
    for (const auto& set : published::comparable(rows)) {
      auto choice = replayed(set, limits);
      if (choice.choices >= kFewest) all.push_back(std::move(choice));
    }
  const auto text = summary(all, limits);
  using Row = ReplayedChoice;
  show::Columns<Row> columns(std::move(all));
  columns.add("source", "source", 0, [](const Row& row) { return row.source; });
  columns.add("model", "model", 0, [](const Row& row) { return row.model; });
  columns.add("gpus", "GPUs", 0, [](const Row& row) { return row.gpus; });
  columns.add("choices", "runs", 0, [](const Row& row) { return row.choices; });
  columns.add("measured", "measured", 0, [](const Row& row) { return row.replay.measured.size(); });
  columns.add("regret", "regret %", 0,
              [](const Row& row) { return share_cell(row.replay.regret); });
  columns.add("regret_estimate", "of best estimate", 0,
              [](const Row& row) { return share_cell(row.replay.regret_estimate); });
  columns.add("regret_random", "at random", 0,
              [](const Row& row) { return share_cell(row.replay.regret_random); });
  columns.add("needed", "needed", 0, [](const Row& row) { return row.replay.needed; });
  columns.add("needed_estimate", "by estimate", 0,
              [](const Row& row) { return row.replay.needed_estimate; });
  columns.add("needed_random", "at random", 0, [](const Row& row) {
    return show::Cell(row.replay.needed_random, fmt::format("{:.1f}", row.replay.needed_random));
  });
  auto table = columns.table("replays");
  table.above = {text, ""};
  table.below =
      fmt::format("needed: measurements until a run within {:g} % of the fastest is measured\n",
                  100 * limits.regret);
  return {"", "", {std::move(table)}};
}

}  // namespace orch::app
