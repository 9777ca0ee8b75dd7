#include "core/cli/chosen.h"

#include "core/base/text.h"
#include "core/cli/commands.h"
#include "core/cli/exit.h"
#include "core/run/store/store.h"

namespace orch::cli {
namespace {

// The best run of an experiment file.
std::variant<Chosen, int> best_of(App& app, const experiment::Source& source,
                                  const std::string& where, const std::string& start,
                                  const std::string& runs) {
  auto outcome = app.plan(source, {.start = parse_date(start), .runs = runs});
  if (!outcome) return fail(outcome.error(), interrupted() ? kInterrupted : kInvalidExperiment);
  if (auto status = app.keep_where(where, *outcome); !status)
    return fail(status.error(), outcome->runs.empty() ? kInvalidExperiment : kUsage);
  if (outcome->runs.empty())
    return fail(
        Error{printable(source.name()), "every run is rejected", "orch plan shows the reasons"},
        kInvalidExperiment);
  return Chosen{std::move(outcome->runs.front().run), outcome->experiment.calendar};
}

// A run folder by its path, id, hash or beginning.
std::variant<Chosen, int> stored(App& app, const std::string& word, const std::string& start,
                                 const std::string& runs) {
  fs::path folder = word;
  std::error_code code;
  if (!fs::exists(folder / "run.json", code)) {
    const auto found = store::Store(runs).find(word);
    if (!found) return fail(found.error(), kError);
    folder = *found;
  }
  auto run = app.read_run(folder);
  if (!run) return fail(run.error(), kError);
  return Chosen{std::move(*run), {parse_date(start), 1, {}}};
}

}  // namespace

std::variant<Chosen, int> choose_run(App& app, const experiment::Source& word,
                                     const std::string& where, const std::string& start,
                                     const std::string& runs) {
  if (word.is_stdin() || word.file.extension() == ".lua")
    return best_of(app, word, where, start, runs);
  if (!word.set.empty())
    return fail(
        Error{"--set " + printable(word.set.front()), "a run is frozen: nothing in it can change",
              "name the experiment's FILE.lua"},
        kUsage);
  return stored(app, word.file.string(), start, runs);
}

}  // namespace orch::cli
