#include "core/app/search_sizes.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <tuple>

#include "core/app/search_parts.h"
#include "core/base/text.h"
#include "core/base/units.h"
#include "core/plan/family.h"
#include "core/plan/resolve.h"
#include "core/price/search/shapes.h"

namespace orch::app {
namespace {

using plan::Planned;
using Runs = std::vector<const Planned*>;

constexpr int kSteps = 4;              // sizes of a model between one and twice it, at first
constexpr int kHalvings = 3;           // of the last of these steps
constexpr int kMisses = 8;             // sizes in a row of which nothing is left, though memory is not to blame
constexpr std::int64_t kMostBetween = 64;  // numbers of GPUs to try between two
constexpr int kLargest = 12 * kSteps;  // 4,096 times the experiment's
constexpr double kSmallest = 1e6;      // parameters

// The best of a strategy at one size.
struct Best {
  Planned planned;
  plan::AskedStrategy asked;
};

// An answer with its runner-up.
struct Question : RunList {
  bool in_budget = false;
};

struct Sizes {
  App& app;
  const SearchArguments& arguments;
  Console& console;
  bool gpus = false;             // the number of them is open; else the size of the model
  search::Opening opening = {};  // of each search
  search::Options options = {};
  plan::Experiment experiment = {};
  std::deque<Best> found = {};
  std::vector<RunList> lists = {};  // an answer with its runner-up each, and the best of each size
  double evaluated = 0;
  int tried = 0;
  std::string sizes = {};  // which: "from 1 to 416, of jean-zay/a100-80g"
  std::string why = {};    // nothing is left of the last size of which nothing is
  bool complete = true;

  const Planned& best() const { return *lists.front().runs.front(); }
};

Error several(const plan::Experiment& experiment, std::string_view what, std::string_view field) {
  return {experiment.file, fmt::format("has several {}, and --open asks about one", what),
          fmt::format("choose: --set {}=...", field)};
}

// A question about sizes has one machine, one training and one other size.
Status check_one(const Sizes& s) {
  struct Field {
    std::string_view name, what, path;
  };
  std::vector<Field> fields{{"cluster", "clusters", "hardware.cluster"},
                            {"partition", "partitions", "hardware.partition"},
                            {"seq", "sequence lengths", "model.seq"},
                            {"tokens", "numbers of tokens", "tokens"},
                            {"global_batch", "batches", "batch.global_batch"}};
  if (!s.gpus) fields.insert(fields.end(), {{"gpus", "numbers of GPUs", "hardware.gpus"},
                                            {"nodes", "numbers of nodes", "hardware.nodes"}});
  const auto& e = s.experiment;
  if (e.models.size() > 1) return several(e, "models", "model");
  if (e.shapes) return Error{e.file + ": search", "shapes of a model cannot be searched together with sizes", "remove it"};
  for (const auto& asked : e.strategies) {
    const plan::Frame frame(e, e.models.front(), asked);
    for (const auto& [name, what, path] : fields)
      if (const auto& source = frame.source(frame.index(name));
          source.axis >= 0 && frame.axes()[static_cast<std::size_t>(source.axis)]->points.size() > 1)
        return several(e, what, path);
  }
  return {};
}

Status prepare(Sizes& s) {
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

// With a value for a field, whoever says something of these.
void set(plan::Experiment& experiment, const search::Names& instead_of, plan::Axis axis) {
  experiment.hardware = search::without(experiment.hardware, instead_of);
  experiment.batch = search::without(experiment.batch, instead_of);
  for (auto& model : experiment.models) model.space = search::without(model.space, instead_of);
  for (auto& asked : experiment.strategies) asked.space = search::without(asked.space, instead_of);
  experiment.hardware.axes.push_back(std::move(axis));
}

struct Outcome {
  bool fits = false, keeps = false;  // something, the budget too
  bool too_large = false;            // what cannot work aside, all is too large for the memory
};

// The best of each strategy at this size is kept.
Result<Outcome> try_size(Sizes& s, const plan::Experiment& sized, const std::string& size) {
  s.console.progress(fmt::format("{} sizes tried, now {}", s.tried, size));
  const auto space = search::Space::make(sized, s.app.find_cluster(), s.opening);
  if (!space) return space.error();
  const auto found = search::search(**space, s.app.backends(), s.options);
  if (!found) return found.error();
  s.complete = s.complete && found->complete;
  if (!found->complete) return Outcome{};  // the best so far is not the best of this size
  ++s.tried;
  s.evaluated += found->evaluated;
  Outcome outcome;
  for (const auto& score : found->strategies) {
    std::vector<Error> reasons;
    auto planned = s.app.explain(search::run_at(**space, s.app.backends(), score.place, reasons));
    if (!planned) return planned.error();
    outcome.keeps = outcome.keeps || tables::keeps(*planned, s.experiment);
    s.found.push_back({std::move(*planned), (*space)->strategy_at(score.place)});
  }
  outcome.fits = !found->strategies.empty();
  outcome.too_large = found->fitting == 0 && found->oom > 0;
  if (!outcome.fits) s.why = reasons_text(s.app, sized, **space, *found);
  return outcome;
}

// The experiment's first run, as far as it can be made without a layout.
struct First {
  explicit First(const Sizes& s)
      : frame(s.experiment, s.experiment.models.front(), s.experiment.strategies.front()),
        find(s.app.find_cluster()), resolver(frame, find), points(frame.axes().size()) {
    resolver.start(points);
  }
  plan::Frame frame;
  plan::FindCluster find;
  plan::Resolver resolver;
  std::vector<std::size_t> points;
};

// Parts of a node, then nodes: every number up to 8, later in steps of an eighth to a quarter.
std::vector<std::int64_t> gpu_counts(std::int64_t per_node, std::int64_t nodes) {
  std::vector<std::int64_t> counts;
  if (nodes <= 0) return counts;
  for (std::int64_t part = 1; part < per_node; part *= 2) counts.push_back(part);
  for (std::uint64_t n = 1; n < static_cast<std::uint64_t>(nodes); n += std::max<std::uint64_t>(1, std::bit_floor(n) / 4))
    counts.push_back(static_cast<std::int64_t>(n) * per_node);
  counts.push_back(nodes * per_node);
  return counts;
}

// Those above one number and below another.
std::vector<std::int64_t> counts_between(std::int64_t low, std::int64_t high, std::int64_t per_node) {
  const auto unit = high <= per_node ? 1 : per_node;
  const auto step = unit * std::max<std::int64_t>(1, (high - low) / unit / kMostBetween);
  std::vector<std::int64_t> counts;
  for (auto count = low / unit * unit + step; count < high; count += step) counts.push_back(count);
  return counts;
}

std::vector<Question> answers(const Sizes& s);

// Between the numbers of GPUs beside each answer.
std::set<std::int64_t> counts_near_answers(const Sizes& s, const std::vector<std::int64_t>& counts, std::int64_t per_node) {
  std::set<std::int64_t> out;
  for (const auto& question : answers(s)) {
    if (question.runs.empty()) continue;
    const auto at = std::ranges::lower_bound(counts, question.runs.front()->run.gpus);
    const bool fewest = question.name.starts_with("fewest");
    const auto add = [&](std::int64_t low, std::int64_t high) {
      for (const auto count : counts_between(low, high, per_node)) out.insert(count);
    };
    if (at != counts.begin()) add(*std::prev(at), *at);
    if (!fewest && std::next(at) != counts.end()) add(*at, *std::next(at));
  }
  return out;
}

Status try_gpus(Sizes& s) {
  First first(s);
  const auto* machine = first.resolver.partition();
  if (!machine) return first.resolver.problems().front();
  const auto per_node = machine->gpus_per_node;
  const auto spare = s.experiment.job.spare_nodes.value_or(machine->slurm.spare_nodes.value_or(0));
  const auto counts = gpu_counts(per_node, machine->nodes - s.experiment.budget.reserve_nodes - spare);
  if (counts.empty())
    return Error{s.experiment.file, fmt::format("no node is left of the {} that {} has", machine->nodes, machine->name),
                 "lower budget.reserve_nodes or slurm.spare_nodes"};
  s.sizes = fmt::format("between 1 and {}, of {}/{}", group_digits(static_cast<double>(counts.back())),
                        first.resolver.cluster()->name, machine->name);
  const auto try_all = [&](const auto& those) -> Status {
    for (const auto count : those) {
      s.complete = s.complete && !interrupted();
      if (!s.complete) break;
      auto sized = s.experiment;
      set(sized, {"gpus", "nodes"}, {{"gpus"}, {{plan::Value(count)}}});
      if (const auto tried = try_size(s, sized, plural(count, "GPU")); !tried) return tried.error();
    }
    return {};
  };
  if (auto status = try_all(counts); !status) return status;
  return try_all(counts_near_answers(s, counts, per_node));
}

bool says(const plan::Space& space, std::string_view field) {
  return std::ranges::any_of(space.axes, [&](const plan::Axis& axis) { return contains(axis.fields, field); }) ||
         std::ranges::any_of(space.derived, [&](const plan::Derived& derived) { return derived.field == field; });
}

plan::Experiment with_model(const plan::Experiment& experiment, const plan::Model& model) {
  using plan::Field;
  auto out = experiment;
  auto& asked = out.models.front();
  search::Names changed{"layers", "hidden", "heads"};
  for (const auto field : {Field::kv_heads, Field::ffn_hidden, Field::expert_hidden, Field::dense_layers})
    if (says(asked.space, plan::name(field))) changed.emplace(plan::name(field));
  plan::Axis axis{{}, {{}}};
  for (const auto& name : changed) {
    axis.fields.push_back(name);
    for (const auto& size : plan::family_of(model).sizes)
      if (plan::name(size.field) == name) axis.points.front().push_back(plan::get(model, size.field));
  }
  set(out, changed, std::move(axis));
  asked.name.clear();
  return out;
}

// Sizes of the model, as steps: each is 2^(1/4) times the last.
struct Ladder {
  Sizes& s;
  plan::Model model;  // the experiment's
  std::map<double, Outcome> tried = {};
  std::set<double> params = {};

  // Nothing where the shape was tried already, or there was no time.
  Result<std::optional<Outcome>> attempt(double step) {
    const auto other = step == 0 ? model : search::scaled(model, std::exp2(step / kSteps));
    s.complete = s.complete && !interrupted();
    if (!s.complete || !params.insert(other.params()).second) return std::optional<Outcome>();
    s.sizes += (s.sizes.empty() ? "" : ", ") + format_tokens(other.params());
    const auto outcome = try_size(s, step == 0 ? s.experiment : with_model(s.experiment, other),
                                  format_tokens(other.params()) + " parameters");
    if (!outcome) return outcome.error();
    return std::optional(tried[step] = *outcome);
  }

  // In steps of one, until nothing is left for want of memory, or the end is reached.
  Status climb() {
    int misses = 0;
    for (int step = 1; step <= kLargest && misses < kMisses && s.complete; ++step) {
      const auto outcome = attempt(step);
      if (!outcome) return outcome.error();
      if (!*outcome) continue;
      if ((*outcome)->too_large) break;
      misses = (*outcome)->fits ? 0 : misses + 1;
    }
    return {};
  }
  Status descend(bool Outcome::*enough) {
    for (int step = -1; s.complete && model.params() * std::exp2(static_cast<double>(step) / kSteps) > kSmallest; --step) {
      const auto outcome = attempt(step);
      if (!outcome) return outcome.error();
      if (*outcome && (**outcome).*enough) break;
    }
    return {};
  }
  // Between the largest with an end that is good enough and the next.
  Status refine(bool Outcome::*enough) {
    const auto good = std::find_if(tried.rbegin(), tried.rend(), [&](const auto& each) { return each.second.*enough; });
    if (good == tried.rend() || good == tried.rbegin()) return {};
    double low = good->first, high = std::prev(good)->first;
    for (int i = 0; i < kHalvings && s.complete; ++i) {
      const auto middle = (low + high) / 2;
      const auto outcome = attempt(middle);
      if (!outcome) return outcome.error();
      if (!*outcome) break;
      ((**outcome).*enough ? low : high) = middle;
    }
    return {};
  }
};

Status try_models(Sizes& s) {
  First first(s);
  Ladder ladder{s, first.resolver.model()};
  if (!first.resolver.problems().empty()) return first.resolver.problems().front();
  const auto own = ladder.attempt(0);
  if (!own) return own.error();
  if (!*own) return {};
  const auto enough = plan::has_limits(s.experiment.budget) ? &Outcome::keeps : &Outcome::fits;
  if ((*own)->fits)
    if (auto status = ladder.climb(); !status) return status;
  if (!((**own).*enough))
    if (auto status = ladder.descend(enough); !status) return status;
  for (const auto which : {&Outcome::fits, &Outcome::keeps})
    if (auto status = ladder.refine(which); !status) return status;
  return {};
}

using Key = std::tuple<double, double>;  // the least is best

// The best by a key, and the next by another strategy or of another size.
Question answer(const Sizes& s, std::string name, std::string title, bool in_budget, Key (*key)(const Planned&)) {
  Runs runs;
  for (const auto& [planned, asked] : s.found)
    if (!in_budget || tables::keeps(planned, s.experiment)) runs.push_back(&planned);
  std::ranges::stable_sort(runs, {}, [&](const Planned* run) { return key(*run); });
  Question list{{std::move(name), std::move(title)}, in_budget};
  if (runs.empty()) return list;
  list.runs.push_back(runs.front());
  for (const auto* run : runs)
    if (run->run.strategy != runs.front()->run.strategy || run->run.gpus != runs.front()->run.gpus ||
        run->run.model != runs.front()->run.model) {
      list.runs.push_back(run);
      break;
    }
  return list;
}

// The fastest of each size, the largest first.
RunList of_each(const Sizes& s) {
  std::map<std::tuple<double, double>, const Planned*> best;
  for (const auto& [planned, asked] : s.found) {
    auto& known = best[{-static_cast<double>(planned.run.gpus), -planned.run.model.params()}];
    if (!known || planned.estimate.days_to_train < known->estimate.days_to_train) known = &planned;
  }
  RunList list{s.gpus ? "gpus" : "params",
               s.gpus ? "Fastest of each number of GPUs" : "Fastest of each size of the model",
               tables::Measure::time, {}};
  for (const auto& [size, planned] : best) list.runs.push_back(planned);
  const auto days = [](const Planned* run) { return run->estimate.days_to_train; };
  std::ranges::stable_sort(list.runs, {}, days);
  if (const auto top = s.arguments.top; top > 0 && list.runs.size() > top) list.runs.resize(top);
  return list;
}

Key few_gpus(const Planned& p) { return {static_cast<double>(p.run.gpus), p.estimate.days_to_train}; }
Key few_hours(const Planned& p) { return {p.estimate.gpu_hours, p.estimate.days_to_train}; }
Key large_model(const Planned& p) { return {-p.run.model.params(), p.estimate.days_to_train}; }

// What decides comes first: it is what --write writes.
std::vector<Question> answers(const Sizes& s) {
  const auto& budget = s.experiment.budget;
  const bool limited = plan::has_limits(budget);
  const auto within = " within " + tables::limits_text(budget);
  std::vector<Question> out;
  if (s.gpus) {
    if (limited) {
      out.push_back(answer(s, "cheapest_in_budget", "Cheapest" + within, true, few_hours));
      out.push_back(answer(s, "fewest_gpus_in_budget", "Fewest GPUs" + within, true, few_gpus));
    }
    if (!limited) out.push_back(answer(s, "cheapest", "Cheapest in GPU-hours", false, few_hours));
    out.push_back(answer(s, "fewest_gpus", "Fewest GPUs that fit", false, few_gpus));
  } else {
    if (limited) out.push_back(answer(s, "largest_model_in_budget", "Largest model" + within, true, large_model));
    out.push_back(answer(s, "largest_model", "Largest model that fits", false, large_model));
  }
  return out;
}

std::string shape_text(const Planned& planned) {
  const auto& m = planned.run.model;
  return fmt::format("{} ({} parameters: {} layers, hidden {}, {} heads), ", m.name, format_tokens(m.params()), m.layers,
                     group_digits(static_cast<double>(m.hidden)), m.heads);
}

// "Fewest GPUs that fit: megatron (...) on 96 GPUs: ...; runner-up: ...".
std::string sentence(const Sizes& s, const Question& list) {
  if (list.runs.empty()) return list.title + ": none of the sizes that were tried\n";
  const auto text = [&](const Planned& run) {
    const bool at_risk = list.in_budget && tables::standing(run, s.experiment) == tables::Standing::at_risk;
    return (s.gpus ? "" : shape_text(run)) + tables::run_text(run, list.runs, s.experiment) +
           (at_risk ? ", at risk: a limit lies within its range" : "");
  };
  auto out = list.title + ": " + text(*list.runs[0]);
  if (list.runs.size() > 1) out += "; runner-up: " + text(*list.runs[1]);
  return out + ".\n";
}

bool keeps_budget(const Sizes& s) {
  return std::ranges::any_of(s.found, [&](const Best& best) { return tables::keeps(best.planned, s.experiment); });
}

// "312,000 configurations at 21 numbers of GPUs: 1 to 416, of jean-zay/a100-80g".
std::string head(const Sizes& s) {
  auto out = s.experiment.name;
  if (!s.experiment.doc.empty()) out += ": " + printable(s.experiment.doc);
  return out + fmt::format("\n{} at {}: {}\n\n", plural(s.evaluated, "configuration"),
                           s.gpus ? plural(s.tried, "number") + " of GPUs" : plural(s.tried, "size") + " of the model",
                           s.sizes);
}

void print_all(const Sizes& s, const std::vector<Question>& questions) {
  const auto& [format, screen] = s.arguments.common;
  if (format == "csv") return s.console.print(csv_of(s.experiment, s.lists));
  if (format == "json") {
    auto best = tables::Json::array();
    for (const auto& list : s.lists) add_entries(s.experiment, list, true, best);
    return s.console.print(tables::dump({{"version", 1},
                                         {"experiment", s.experiment.name},
                                         {"sizes", s.tried},
                                         {"evaluated", std::llround(s.evaluated)},
                                         {"complete", s.complete},
                                         {"keeps_budget", keeps_budget(s)},
                                         {"best", std::move(best)}}));
  }
  if (format == "table") s.console.print(tables::wrap(head(s), screen));
  s.console.print(text_of(s.experiment, {s.lists.back()}, screen) + "\n");
  for (const auto& list : questions) s.console.print(tables::wrap(sentence(s, list), screen));
}

Ending nothing_left(const Sizes& s) {
  if (!s.complete) return Exit::interrupted;
  say(s.arguments, s.why, s.console);
  return {Error{printable(s.arguments.source.file.string()),
                fmt::format("nothing is left at any of {} ({})", plural(s.tried, "size"),
                            plural(s.evaluated, "configuration")),
                "loosen what the experiment fixes: batch, constraints, --where"},
          Exit::invalid_experiment};
}

Ending run(Sizes& s) {
  if (auto status = prepare(s); !status)
    return {status.error(), status.error().front().place.starts_with("--") ? Exit::usage : Exit::invalid_experiment};
  const auto status = s.gpus ? try_gpus(s) : try_models(s);
  s.console.progress("");
  if (!status) return {status.error(), Exit::invalid_experiment};
  if (!s.complete) s.console.note(fmt::format("interrupted after {}: the best so far\n", plural(s.tried, "size")));
  if (s.found.empty()) return nothing_left(s);
  const auto questions = answers(s);
  s.lists.assign(questions.begin(), questions.end());
  std::erase_if(s.lists, [](const RunList& list) { return list.runs.empty(); });
  s.lists.push_back(of_each(s));
  print_all(s, questions);
  const auto& asked = std::ranges::find_if(s.found, [&](const Best& best) { return &best.planned == &s.best(); })->asked;
  const auto how = fmt::format("the answer to \"{}\"", s.lists.front().title);
  if (auto written = write_best(s.arguments, s.experiment, s.best(), asked, how); !written) return written.error();
  if (s.arguments.common.format != "json") say(s.arguments, next_step(s.arguments, ""), s.console);
  if (!s.complete) return Exit::interrupted;
  return plan::has_limits(s.experiment.budget) && !keeps_budget(s) ? Exit::over_budget : Exit::ok;
}

}  // namespace

bool opens_sizes(const search::Opening& opening) {
  return contains(opening.open, "gpus") || contains(opening.open, "params");
}

Ending search_sizes(App& app, const SearchArguments& arguments, Console& console) {
  Sizes sizes{app, arguments, console};
  return run(sizes);
}

}  // namespace orch::app
