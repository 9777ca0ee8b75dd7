#include <deque>

#include "core/app/gather.h"
#include "core/base/text.h"
#include "core/show/tables/comparison.h"

namespace orch::app {
namespace {

// Owns the records that groups point to.
struct RecordPools {
  std::deque<RecordList> held;
  const RecordList* chosen_from = nullptr;  // for arguments that are not paths; loaded on first use
};

Status fill_pool(Gatherer& gatherer, const CompareArguments& arguments, RecordPools& pools) {
  if (pools.chosen_from != nullptr) return {};
  auto records =
      arguments.in.empty()
          ? gatherer.every_run(arguments.records.runs)
          : all_of(arguments.in, [&](const auto& place) { return gatherer.find(place); });
  if (!records) return records.error();
  pools.chosen_from = &pools.held.emplace_back(std::move(*records));
  return {};
}

Result<compare::Cohort> from_pool(Gatherer& gatherer, const CompareArguments& arguments,
                                  const std::string& word, RecordPools& pools) {
  if (auto status = fill_pool(gatherer, arguments, pools); !status) return status.error();
  if (pools.chosen_from->empty())
    return Error{printable(word), "no runs in " + arguments.records.runs,
                 "--in names a table, logs or a folder of runs to choose from"};
  auto chosen = select(*pools.chosen_from, word);
  if (!chosen) return chosen.error();
  return compare::Cohort{word, std::move(*chosen)};
}

Result<compare::Cohort> from_place(Gatherer& gatherer, const std::string& word,
                                   RecordPools& pools) {
  auto records = gatherer.find(word);
  if (!records) return records.error();
  if (records->empty()) return Error{printable(word), "holds no run", "orch ingest says why"};
  const auto& held = pools.held.emplace_back(std::move(*records));
  compare::Cohort group{word, {}};
  for (const auto& record : held) group.records.push_back(&record);
  return group;
}

// The records of an argument: a selection from the named pool; else those at the path, a row of a
// published table, or a selection from the runs.
Result<compare::Cohort> group_of(Gatherer& gatherer, const CompareArguments& arguments,
                                 const std::string& word, RecordPools& pools) {
  if (word.empty())
    return Error{"''", "found nothing to compare",
                 "name a run, a log, a row or an experiment, or choose: strategy=ddp,gpus=8"};
  const bool place = gatherer.is_place(word) || word.ends_with(".lua");
  if (!arguments.in.empty()) {
    auto chosen = from_pool(gatherer, arguments, word, pools);
    return chosen || !place ? chosen : from_place(gatherer, word, pools);
  }
  if (place) return from_place(gatherer, word, pools);
  if (word.find('=') == std::string::npos)
    if (auto row = from_place(gatherer, word, pools)) return row;
  return from_pool(gatherer, arguments, word, pools);
}

}  // namespace

Ending compare_command(App& app, const CompareArguments& arguments, Console& console) {
  if (arguments.records.words.size() < 2)
    return {Error{"orch compare", "compare needs at least two arguments", "orch report shows one"},
            Exit::usage};
  Gatherer gatherer(app, arguments.records);
  RecordPools pools;
  std::vector<compare::Cohort> groups;
  Errors errors;
  for (const auto& word : arguments.records.words) {
    auto group = group_of(gatherer, arguments, word, pools);
    if (errors.add(group)) groups.push_back(std::move(*group));
  }
  if (interrupted()) return Exit::interrupted;
  if (!errors.empty()) return errors;
  gatherer.tell_passed(console);
  auto comparison = compare::compare(groups, {.same_size = arguments.same_size});
  if (!comparison) return {comparison.error(), Exit::usage};
  const auto answer = tables::comparison_answer(std::move(*comparison));
  auto inputs = arguments.records.words;
  inputs.insert(inputs.end(), arguments.in.begin(), arguments.in.end());
  return put_out(answer, arguments.records.common, arguments.records.output, inputs, console);
}

}  // namespace orch::app
