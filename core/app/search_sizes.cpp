#include "core/app/search_sizes.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "core/app/size_trials.h"
#include "core/base/text.h"
#include "core/base/units.h"
#include "core/plan/resolve.h"

namespace orch::app {
namespace {

using plan::Planned;
using PlannedRuns = std::vector<const Planned*>;

// A best run with its runner-up.
struct SizeAnswer : RunList {
  bool in_budget = false;
};

Error several(const plan::Experiment& experiment, std::string_view what, std::string_view field) {
  return {experiment.file, fmt::format("has several {}, and --open asks about one", what),
          fmt::format("choose: --set {}=...", field)};
}

// A search for sizes needs one machine, one training and one value for the other size.
Status check_one(const TrialSizes& s) {
  struct Field {
    std::string_view name, what, path;
  };
  std::vector<Field> fields{{"cluster", "clusters", "hardware.cluster"},
                            {"partition", "partitions", "hardware.partition"},
                            {"seq", "sequence lengths", "model.seq"},
                            {"tokens", "numbers of tokens", "tokens"},
                            {"global_batch", "batches", "batch.global_batch"}};
  if (!s.gpus)
    fields.insert(fields.end(), {{"gpus", "numbers of GPUs", "hardware.gpus"},
                                 {"nodes", "numbers of nodes", "hardware.nodes"}});
  const auto& e = s.experiment;
  if (e.models.size() > 1) return several(e, "models", "model");
  if (e.shapes)
    return Error{e.file + ": search", "shapes of a model cannot be searched together with sizes",
                 "remove search"};
  for (const auto& asked : e.strategies) {
    const plan::FieldSources frame(e, e.models.front(), asked);
    for (const auto& [name, what, path] : fields)
      if (lists_several(frame, name)) return several(e, what, path);
  }
  return {};
}

Status prepare(TrialSizes& s) {
  s.opening = s.arguments.opening;
  for (const auto* size : {"gpus", "params"}) std::erase(s.opening.open, size);
  s.gpus = contains(s.arguments.opening.open, "gpus");
  if (s.gpus && contains(s.arguments.opening.open, "params"))
    return Error{"--open", "gpus and params cannot be opened together", "open one of them"};
  auto experiment = s.app.load(s.arguments.source);
  if (!experiment) return experiment.error();
  s.experiment = std::move(*experiment);
  auto options = options_of(s.app, s.arguments);
  if (!options) return options.error();
  s.options = std::move(*options);
  return check_one(s);
}

using CostKey = std::tuple<double, double>;  // the smallest is the best

// The best by a key, and the next with another strategy or size.
SizeAnswer answer(const TrialSizes& s, std::string name, std::string title, bool in_budget,
                  CostKey (*key)(const Planned&)) {
  PlannedRuns runs;
  for (const auto& [planned, asked] : s.found)
    if (!in_budget || tables::keeps(planned, s.experiment)) runs.push_back(&planned);
  std::ranges::stable_sort(runs, {}, [&](const Planned* run) { return key(*run); });
  SizeAnswer list{{std::move(name), std::move(title)}, in_budget};
  if (runs.empty()) return list;
  list.runs.push_back(runs.front());
  for (const auto* run : runs)
    if (run->run.strategy != runs.front()->run.strategy ||
        run->run.gpus != runs.front()->run.gpus || run->run.model != runs.front()->run.model) {
      list.runs.push_back(run);
      break;
    }
  return list;
}

// The fastest of each size, the largest size first.
RunList of_each(const TrialSizes& s) {
  std::map<std::tuple<double, double>, const Planned*> best;
  for (const auto& [planned, asked] : s.found) {
    auto& known = best[{-static_cast<double>(planned.run.gpus), -planned.run.model.params()}];
    if (!known || planned.estimate.days_to_train < known->estimate.days_to_train) known = &planned;
  }
  RunList list{s.gpus ? "gpus" : "params",
               s.gpus ? "Fastest of each number of GPUs" : "Fastest of each size of the model",
               tables::RankBy::time,
               {}};
  for (const auto& [size, planned] : best) list.runs.push_back(planned);
  const auto days = [](const Planned* run) { return run->estimate.days_to_train; };
  std::ranges::stable_sort(list.runs, {}, days);
  if (const auto top = s.arguments.top; top > 0 && list.runs.size() > top) list.runs.resize(top);
  return list;
}

CostKey few_gpus(const Planned& p) {
  return {static_cast<double>(p.run.gpus), p.estimate.days_to_train};
}
CostKey few_hours(const Planned& p) { return {p.estimate.gpu_hours, p.estimate.days_to_train}; }
CostKey large_model(const Planned& p) { return {-p.run.model.params(), p.estimate.days_to_train}; }

// The deciding list comes first: --write writes it.
std::vector<SizeAnswer> answers(const TrialSizes& s) {
  const auto& budget = s.experiment.budget;
  const bool limited = plan::has_limits(budget);
  const auto within = " within " + tables::limits_text(budget);
  std::vector<SizeAnswer> out;
  if (s.gpus) {
    if (limited) {
      out.push_back(answer(s, "cheapest_in_budget", "Cheapest" + within, true, few_hours));
      out.push_back(answer(s, "fewest_gpus_in_budget", "Fewest GPUs" + within, true, few_gpus));
    }
    if (!limited) out.push_back(answer(s, "cheapest", "Cheapest in GPU-hours", false, few_hours));
    out.push_back(answer(s, "fewest_gpus", "Fewest GPUs that fit", false, few_gpus));
  } else {
    if (limited)
      out.push_back(
          answer(s, "largest_model_in_budget", "Largest model" + within, true, large_model));
    out.push_back(answer(s, "largest_model", "Largest model that fits", false, large_model));
  }
  return out;
}

std::string shape_text(const Planned& planned) {
  const auto& m = planned.run.model;
  return fmt::format("{} ({} parameters: {} layers, hidden {}, {} heads), ", m.name,
                     format_tokens(m.params()), m.layers,
                     group_digits(static_cast<double>(m.hidden)), m.heads);
}

// "Fewest GPUs that fit: megatron (...) on 96 GPUs: ...; runner-up: ...".
std::string sentence(const TrialSizes& s, const SizeAnswer& list) {
  if (list.runs.empty()) return list.title + ": none of the sizes that were tried\n";
  const auto text = [&](const Planned& run) {
    const bool at_risk =
        list.in_budget && tables::standing(run, s.experiment) == tables::RunStanding::at_risk;
    return (s.gpus ? "" : shape_text(run)) + tables::run_text(run, list.runs, s.experiment) +
           (at_risk ? ", at risk: a limit lies within its range" : "");
  };
  auto out = list.title + ": " + text(*list.runs[0]);
  if (list.runs.size() > 1) out += "; runner-up: " + text(*list.runs[1]);
  return out + ".\n";
}

bool keeps_budget(const TrialSizes& s) {
  return std::ranges::any_of(
      s.found, [&](const BestTrial& best) { return tables::keeps(best.planned, s.experiment); });
}

// "312,000 configurations at 21 numbers of GPUs: 1 to 416, of jean-zay/a100-80g".
std::string head(const TrialSizes& s) {
  auto out = s.experiment.name;
  if (!s.experiment.doc.empty()) out += ": " + printable(s.experiment.doc);
  return out + fmt::format("\n{} at {}: {}\n\n", plural(s.evaluated, "configuration"),
                           s.gpus ? plural(s.tried, "number") + " of GPUs"
                                  : plural(s.tried, "size") + " of the model",
                           s.sizes);
}

show::Answer answer_of(const TrialSizes& s, const std::vector<SizeAnswer>& questions) {
  show::Answer out{s.experiment.name, head(s)};
  std::vector<Question> all{{"", &s.lists}};
  out.sections.push_back(for_programs(s.experiment, all));
  const std::vector<RunList> last{s.lists.back()};
  add_lists(s.experiment, {{"", &last}}, out);
  show::Findings sentences;
  for (const auto& list : questions) sentences.list.push_back({list.name, sentence(s, list)});
  out.sections.push_back(std::move(sentences));
  out.sections.push_back(
      show::Details{"search",
                    "",
                    {{"sizes", static_cast<std::int64_t>(s.tried)},
                     {"evaluated", static_cast<std::int64_t>(std::llround(s.evaluated))},
                     {"complete", s.complete},
                     {"keeps_budget", keeps_budget(s)}}});
  return out;
}

Ending nothing_left(const TrialSizes& s) {
  if (!s.complete) return Exit::interrupted;
  s.arguments.common.tell(show::wrap(s.why, s.arguments.common.screen), s.console);
  return {Error{printable(s.arguments.source.file.string()),
                fmt::format("nothing is left at any of {} ({})", plural(s.tried, "size"),
                            plural(s.evaluated, "configuration")),
                "loosen what the experiment fixes: batch, constraints, --where"},
          Exit::invalid_experiment};
}

Ending run(TrialSizes& s) {
  if (auto status = prepare(s); !status)
    return {status.error(), status.error().front().place.starts_with("--")
                                ? Exit::usage
                                : Exit::invalid_experiment};
  const auto answered = [&] {
    std::vector<GpuCountAnswer> out;
    for (const auto& question : answers(s))
      if (!question.runs.empty())
        out.push_back({question.runs.front()->run.gpus, question.name.starts_with("fewest")});
    return out;
  };
  const auto status = s.gpus ? try_gpus(s, answered) : try_models(s);
  s.console.progress("");
  if (!status) return {status.error(), Exit::invalid_experiment};
  if (!s.complete)
    s.console.note(fmt::format("interrupted after {}: the best so far\n", plural(s.tried, "size")));
  if (s.found.empty()) return nothing_left(s);
  const auto questions = answers(s);
  s.lists.assign(questions.begin(), questions.end());
  std::erase_if(s.lists, [](const RunList& list) { return list.runs.empty(); });
  s.lists.push_back(of_each(s));
  auto answer = answer_of(s, questions);
  const auto& asked = std::ranges::find_if(s.found, [&](const BestTrial& best) {
                        return &best.planned == &s.best();
                      })->asked;
  const auto how = fmt::format("the answer to \"{}\"", s.lists.front().title);
  if (auto written = write_best(s.arguments, s.experiment, s.best(), asked, how); !written)
    return written.error();
  answer.sections.push_back(show::Findings{"", {{"next", next_step(s.arguments, "")}}});
  s.arguments.common.give(answer, s.console);
  if (!s.complete) return Exit::interrupted;
  return plan::has_limits(s.experiment.budget) && !keeps_budget(s) ? Exit::over_budget : Exit::ok;
}

}  // namespace

bool opens_sizes(const search::OpenFields& opening) {
  return contains(opening.open, "gpus") || contains(opening.open, "params");
}

Ending search_sizes(App& app, const SearchArguments& arguments, Console& console) {
  TrialSizes sizes{app, arguments, console};
  return run(sizes);
}

}  // namespace orch::app
