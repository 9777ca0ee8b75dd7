#include "core/show/tables/comparison.h"

#include <algorithm>

#include "core/base/text.h"
#include "core/base/units.h"
#include "core/show/findings/compared.h"

namespace orch::tables {
namespace {

using compare::Judgement;
using show::Cell, show::Columns;
using statistics::Interval;

// A group compared with the first one by a metric: all records, the best of each, or their pairs.
struct ComparedValue {
  std::string_view by;
  std::size_t group;
  compare::Metric metric;  // without the groups' values
  std::string title;
  bool estimated;
  const Judgement* judgement;
  const compare::ComparedAmount *base = nullptr, *value = nullptr;
  std::string remark = {};
};

compare::Metric described(const compare::PairComparison& duel) {
  compare::Metric out;
  out.name = duel.metric;
  out.title = duel.title;
  return out;
}

ComparedValue pairs_row(const compare::PairedComparison& pairs) {
  return {"pairs",
          pairs.group,
          described(pairs.pairs.front()),
          "like for like, " + plural(pairs.pairs.size(), "pair"),
          pairs.judgement.estimated,
          &pairs.judgement};
}

ComparedValue best_row(const compare::BestComparison& best) {
  ComparedValue out{"best",
                    best.group,
                    described(best),
                    "best of each: " + best.title,
                    best.judgement.estimated,
                    &best.judgement,
                    &best.base,
                    &best.value};
  if (best.per_gpu)
    out.remark = "on " + best.gpus + " GPUs against " + best.base_gpus + ", per GPU " +
                 findings::ratio_text(*best.per_gpu, findings::comparative_of(out.metric)) + "; ";
  out.remark += best.id + " against " + best.base_id;
  return out;
}

// True if another row has the same information: tokens per second equal days, and so do GPU-hours
// if the numbers of GPUs are equal.
bool is_said_already(const compare::Comparison& c, const std::string& metric) {
  if (metric == "tokens_per_second") return true;
  return metric == "gpu_hours_per_1e9_tokens" && compare::find(c.differences, "gpus") == nullptr;
}

void add_metric(const compare::Comparison& c, std::size_t i, std::vector<ComparedValue>& out) {
  for (const auto& against : c.against) {
    auto metric = c.metrics[i];
    metric.values.clear();
    const auto &base = c.metrics[i].values.front(), &value = c.metrics[i].values[against.group];
    const auto add = [&](const std::string& title, bool estimated) {
      out.push_back(
          {"all", against.group, metric, title, estimated, &against.judgements[i], &base, &value});
    };
    const bool measured = base.measured || value.measured;
    if (measured) add(metric.title, false);
    if (base.estimated || value.estimated)
      add(measured ? "  estimated" : metric.title + ", estimated", true);
  }
}

std::vector<ComparedValue> results_of(const compare::Comparison& c, bool all) {
  std::vector<ComparedValue> out;
  for (const auto& against : c.against) {
    if (const auto& pairs = c.pairs[against.group - 1]; !pairs.pairs.empty())
      out.push_back(pairs_row(pairs));
    for (const auto& best : c.best)
      if (best.group == against.group && best.judgement.ratio) out.push_back(best_row(best));
  }
  for (std::size_t i = 0; i < c.metrics.size(); ++i)
    if (all || !is_said_already(c, c.metrics[i].name)) add_metric(c, i, out);
  return out;
}

// The judgement that a row shows: estimates have a judgement of their own only if they decide.
const Judgement* judged(const ComparedValue& row) {
  return row.estimated == row.judgement->estimated ? row.judgement : nullptr;
}

std::optional<Interval> ratio_of(const ComparedValue& row) {
  if (judged(row)) return row.judgement->ratio;
  return row.estimated ? row.judgement->predicted : std::nullopt;
}

std::string against_text(const compare::Comparison& c, const ComparedValue& row) {
  std::vector<std::string> out;
  const auto* own = judged(row);
  if (own)
    out.push_back(findings::judgement_text(c, *own, row.metric, row.group));
  else if (const auto ratio = ratio_of(row))
    out.push_back(findings::ratio_text(*ratio, findings::comparative_of(row.metric)));
  if (own && own->as_predicted)
    out.push_back(*own->as_predicted ? "as predicted" : "not as predicted");
  if (!row.remark.empty()) out.push_back(row.remark);
  return join(out, "; ");
}

// The value of the first group or of the row's own, with the range of a mixed group.
void add_value(const SharedComparison& c, bool base, Columns<ComparedValue>& columns) {
  const std::string prefix = base ? "base_" : "";
  const auto value = [base](const ComparedValue& row) {
    const auto* of = base ? row.base : row.value;
    return of ? *of : compare::ComparedAmount();
  };
  auto& column = columns.add(
      prefix + "value", base ? head_of(*c, 0) : other_head(*c), 0,
      [value](const ComparedValue& row) {
        const auto of = value(row);
        if (!row.estimated)
          return interval_cell(of.measured, findings::measured_text(row.metric, of));
        return interval_cell(
            of.estimated, of.estimated ? findings::interval_text(row.metric, *of.estimated) : "");
      });
  column.range = prefix + "value";
  const auto add = [&](const char* name, auto read) {
    columns.add(prefix + name, [value, read](const ComparedValue& row) {
      return row.estimated ? Cell() : Cell(read(value(row)));
    });
  };
  add("least", [](const compare::ComparedAmount& of) { return of.lowest; });
  add("most", [](const compare::ComparedAmount& of) { return of.highest; });
  add("runs", [](const compare::ComparedAmount& of) { return of.runs; });
}

void add_judgement(const SharedComparison& c, Columns<ComparedValue>& columns) {
  auto& ratio = columns.add(
      "ratio", [](const ComparedValue& row) { return interval_cell(ratio_of(row), ""); });
  ratio.range = "ratio";
  const auto add = [&](const char* name, auto read) {
    columns.add(name, [read](const ComparedValue& row) {
      const auto* own = judged(row);
      return own ? Cell(read(*own)) : Cell();
    });
  };
  add("verdict", [](const Judgement& own) { return name(own.verdict); });
  add("reason", [](const Judgement& own) { return name(own.reason); });
  add("doubtful", [](const Judgement& own) { return join(own.doubtful, ", "); });
  add("as_predicted",
      [](const Judgement& own) { return own.as_predicted ? Cell(*own.as_predicted) : Cell(); });
  columns.add("remark", [](const ComparedValue& row) { return row.remark; });
  columns.add("", against_head(*c), show::kBelow,
              [c](const ComparedValue& row) { return against_text(*c, row); });
}

show::Findings answer_findings(const compare::Comparison& c,
                               const compare::GroupComparison& against) {
  return {"",
          {{"answer", printable(findings::answer_text(c, against))},
           {"sure", printable(findings::sure_text(c, against))},
           {"causes", printable(findings::causes_text(c, against))}}};
}

}  // namespace

std::string head_of(const compare::Comparison& c, std::size_t group) {
  constexpr std::size_t kLong = 12, kLetters = 26;
  const bool letters =
      c.groups.size() <= kLetters && std::ranges::any_of(c.groups, [](const auto& each) {
        return display_width(each.name) > kLong;
      });
  return letters ? std::string(1, static_cast<char>('A' + group)) : printable(c.groups[group].name);
}

std::string group_head(const compare::Comparison& c) { return c.groups.size() > 2 ? "group" : ""; }

std::string other_head(const compare::Comparison& c) {
  return c.groups.size() > 2 ? "the group" : head_of(c, 1);
}

std::string against_head(const compare::Comparison& c) {
  return other_head(c) + " against " + head_of(c, 0);
}

Cell group_cell(const compare::Comparison& c, std::size_t group) {
  return {show::Value(c.groups[group].name), head_of(c, group)};
}

Cell interval_cell(const std::optional<Interval>& interval, std::string text) {
  Cell out;
  if (!interval) return out;
  out.value = interval->value;
  out.low = Cell(interval->low).value;
  out.high = Cell(interval->high).value;
  out.text = std::move(text);
  return out;
}

show::Table results_table(const SharedComparison& c, bool all) {
  Columns<ComparedValue> columns(results_of(*c, all));
  columns.add("by", [](const ComparedValue& row) { return row.by; });
  columns.add("metric", "metric", 0, [](const ComparedValue& row) -> Cell {
    return {show::Value(row.metric.name), row.title};
  });
  columns.add("convention", [](const ComparedValue& row) { return row.metric.convention; });
  columns.add("better", [](const ComparedValue& row) { return compare::name(row.metric.better); });
  columns.add("group", group_head(*c), 0,
              [c](const ComparedValue& row) { return group_cell(*c, row.group); });
  columns.add("basis",
              [](const ComparedValue& row) { return row.estimated ? "estimated" : "measured"; });
  add_value(c, true, columns);
  add_value(c, false, columns);
  add_judgement(c, columns);
  auto out = columns.table("results", "Result");
  for (std::size_t g = 0; g < c->groups.size(); ++g)
    if (head_of(*c, g) != printable(c->groups[g].name))
      out.above.push_back(head_of(*c, g) + " is " + printable(c->groups[g].name));
  return out;
}

show::Answer comparison_answer(compare::Comparison comparison) {
  const auto held = std::make_shared<const compare::Comparison>(std::move(comparison));
  show::Answer out;
  for (const auto& against : held->against)
    out.sections.emplace_back(answer_findings(*held, against));
  const auto add = [&out](show::Table table) {
    if (table.rows == 0) table = show::for_programs(std::move(table));
    out.sections.emplace_back(std::move(table));
  };
  out.sections.emplace_back(show::for_programs(results_table(held, true)));
  const bool same = std::ranges::all_of(held->against, &compare::GroupComparison::itself);
  if (!same) add(show::for_people(results_table(held, false)));
  add(ranking_table(held));
  show::Findings notes;
  for (const auto& note : findings::notes(*held)) notes.list.push_back({"note", printable(note)});
  out.sections.emplace_back(std::move(notes));
  add(pairs_table(held));
  add_details(held, out);
  return out;
}

}  // namespace orch::tables
