#include <fmt/format.h>

#include <algorithm>

#include "core/base/text.h"
#include "core/base/units.h"
#include "core/show/compare/compare.h"
#include "core/show/compare/fields.h"
#include "core/show/compare/ranking.h"
#include "core/show/compare/words.h"

namespace orch::compare {
namespace {

using Row = std::vector<std::string>;

constexpr std::size_t kShown = 4;  // ids of a group

std::string ids_text(const std::vector<std::string>& ids) {
  const auto shown = std::min(ids.size(), kShown);
  auto out = join(std::span(ids).first(shown), ", ");
  return shown < ids.size() ? out + fmt::format(" and {} more", ids.size() - shown) : out;
}

std::string kind_text(const Taken& group) {
  if (group.kind == Kind::one) return "one run";
  return fmt::format("{}{}", group.ids.size(),
                     group.kind == Kind::repeats ? " repeats" : " runs, a mixture");
}

Section groups_section(const Comparison& c) {
  Section out{"Groups", {{"group", "what", "outcome", "records"}}, {}};
  for (const auto& group : c.groups) {
    out.rows.push_back({group.name, kind_text(group), group.outcome, ids_text(group.ids)});
    if (!group.nothing.empty())
      out.sentences.push_back(group.name + ": " + join(group.nothing, ": "));
  }
  return out;
}

// What a pair comes to, in one line.
std::string headline_text(const Comparison& c, const Against& against) {
  const auto start = c.groups[against.group].name + " against " + c.groups.front().name + ": ";
  if (against.itself) return start + "the same records: there is nothing to compare";
  if (against.outcome.verdict != Verdict::missing) return start + against.outcome.text;
  const auto* metric = headline(c);
  for (std::size_t i = 0; metric != nullptr && i < c.metrics.size(); ++i)
    if (&c.metrics[i] == metric && against.judgements[i].verdict != Verdict::missing)
      return start + metric->title + ": " + against.judgements[i].text;
  for (std::size_t i = 0; i < c.metrics.size(); ++i)
    if (against.judgements[i].ratio)
      return start + c.metrics[i].title + ": " + against.judgements[i].text;
  return start + "nothing that was measured or estimated compares";
}

// "best against best, b (b-3) against a (a-1): days per 100B tokens: 12 against 15: 1.25x faster".
std::string best_text(const Comparison& c, const BestAgainst& best) {
  Metric metric;
  metric.name = best.metric;
  const auto shown = [&](const Value& value) {
    return best.judgement.estimated ? estimated_text(metric, value) : measured_text(metric, value);
  };
  return fmt::format("best against best, {} ({}) against {} ({}): {}: {} against {}: {}",
                     c.groups[best.group].name, best.id, c.groups.front().name, best.base_id,
                     best.title, shown(best.value), shown(best.base), best.judgement.text);
}

bool any_estimate(const Comparison& c) {
  return std::any_of(c.metrics.begin(), c.metrics.end(), [](const Metric& metric) {
    return std::any_of(metric.values.begin(), metric.values.end(),
                       [](const Value& value) { return value.estimated.has_value(); });
  });
}

std::string predicted_text(const Judgement& judgement) {
  if (!judgement.predicted || judgement.estimated) return "";
  return interval_text(*judgement.predicted, 2);
}

Row value_row(const Comparison& c, std::size_t metric, std::size_t group, bool estimates) {
  const auto& m = c.metrics[metric];
  const auto* judgement = group > 0 ? &c.against[group - 1].judgements[metric] : nullptr;
  Row row{group == 0 ? m.title : "", c.groups[group].name, measured_text(m, m.values[group])};
  if (estimates) {
    row.push_back(estimated_text(m, m.values[group]));
    row.push_back(judgement ? predicted_text(*judgement) : "");
  }
  auto text = judgement ? judgement->text : "";
  if (judgement && judgement->as_predicted)
    text += *judgement->as_predicted ? "; as predicted" : "; not as predicted";
  row.push_back(std::move(text));
  return row;
}

Section short_section(const Comparison& c) {
  Section out{"In short", {}, {}};
  for (const auto& against : c.against) out.sentences.push_back(headline_text(c, against));
  for (const auto& best : c.best) out.sentences.push_back(best_text(c, best));
  return out;
}

Section result_section(const Comparison& c) {
  Section out{"Result", {}, {}};
  for (const auto& against : c.against)
    for (const auto& warning : against.warnings)
      out.sentences.push_back(c.groups[against.group].name + " against " + c.groups.front().name +
                              ": " + warning);
  out.sentences.insert(out.sentences.end(), c.notes.begin(), c.notes.end());
  if (c.metrics.empty()) return out;
  const bool estimates = any_estimate(c);
  out.rows.push_back(
      estimates ? Row{"metric", "group", "measured (95 %)", "estimated (90 %)", "predicted",
                      "against " + c.groups.front().name}
                : Row{"metric", "group", "measured (95 %)", "against " + c.groups.front().name});
  for (std::size_t i = 0; i < c.metrics.size(); ++i)
    for (std::size_t g = 0; g < c.groups.size(); ++g)
      out.rows.push_back(value_row(c, i, g, estimates));
  return out;
}

std::string effect_text(const Effect& effect) {
  Row parts;
  for (const auto aspect : kAspects)
    if (effect.on(aspect)) parts.emplace_back(name(aspect));
  return parts.empty() ? "nothing" : join(parts, ", ");
}

std::string follows_text(const Difference& difference) {
  Row parts;
  for (const auto& fields : difference.follows)
    for (const auto& field : fields)
      if (std::find(parts.begin(), parts.end(), field) == parts.end()) parts.push_back(field);
  return parts.empty() ? "" : "follows from " + join(parts, ", ");
}

bool has_standing(const Difference& difference, Standing standing) {
  return std::find(difference.standings.begin(), difference.standings.end(), standing) !=
         difference.standings.end();
}

Row head_row(const Comparison& c, const Row& first, const Row& last) {
  Row row = first;
  for (const auto& group : c.groups) row.push_back(group.name);
  row.insert(row.end(), last.begin(), last.end());
  return row;
}

Row difference_row(const Difference& difference, bool with_effect) {
  Row row{difference.field};
  for (const auto& said : difference.said) row.push_back(said_text(said));
  row.push_back(effect_text(difference.effect));
  if (with_effect) row.push_back(follows_text(difference));
  return row;
}

Section differences_section(const Comparison& c, bool circumstances) {
  Section out{circumstances ? "Circumstances that differ" : "Settings that differ", {}, {}};
  for (const auto& difference : c.differences)
    if (difference.circumstance == circumstances && has_standing(difference, Standing::differs))
      out.rows.push_back(difference_row(difference, !circumstances));
  if (out.rows.empty() && !circumstances) out.sentences.push_back("none that is known");
  if (!out.rows.empty())
    out.rows.insert(out.rows.begin(),
                    head_row(c, {circumstances ? "circumstance" : "setting"},
                             circumstances ? Row{"can change"} : Row{"can change", ""}));
  return out;
}

// What some say and others do not: nobody knows whether it differs.
Section unsaid_section(const Comparison& c) {
  Section out{"Cannot be compared: not all say it", {}, {}};
  for (const auto& difference : c.differences)
    if (!has_standing(difference, Standing::differs))
      out.rows.push_back(difference_row(difference, false));
  if (!out.rows.empty()) out.rows.insert(out.rows.begin(), head_row(c, {"field"}, {"can change"}));
  return out;
}

// Aspects with the same explanation share a sentence.
Section causes_section(const Comparison& c) {
  Section out{"What can explain it", {}, {}};
  for (const auto& against : c.against) {
    const auto& all = against.explanations;
    for (std::size_t i = 0; i < all.size(); ++i) {
      const auto same = [&](const Explanation& e) { return e.text == all[i].text; };
      if (std::any_of(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(i), same)) continue;
      Row aspects;
      for (const auto& explanation : all)
        if (same(explanation)) aspects.emplace_back(name(explanation.aspect));
      out.sentences.push_back(fmt::format("{} against {}, {}: {}", c.groups[against.group].name,
                                          c.groups.front().name, join(aspects, " and "),
                                          all[i].text));
    }
  }
  return out;
}

Section ranking_section(const Comparison& c) {
  Section out{"Ranking", {}, {}};
  const auto* metric = headline(c);
  if (c.groups.size() < 3 || metric == nullptr) return out;
  out.sentences.push_back("groups that share a place cannot be told apart");
  out.rows.push_back({"place", "group", metric->title});
  for (const auto& rank : c.ranking) {
    const auto& value = metric->values[rank.group];
    const auto place = rank.place == 0 ? "" : std::to_string(rank.place) + (rank.tie ? "=" : "");
    auto text = rank.estimated ? estimated_text(*metric, value) + " estimated"
                               : measured_text(*metric, value);
    if (c.groups[rank.group].lost) text += "; not ranked, as it lost its loss";
    out.rows.push_back({place, c.groups[rank.group].name, text});
  }
  return out;
}

Section doubts_section(const Comparison& c) { return {"Doubts", {}, c.doubts}; }

void make_printable(Section& section) {
  for (auto& sentence : section.sentences) sentence = printable(sentence);
  for (auto& row : section.rows)
    for (auto& cell : row) cell = printable(cell);
}

}  // namespace

std::vector<Section> sections(const Comparison& c) {
  std::vector<Section> all{short_section(c),
                           groups_section(c),
                           result_section(c),
                           ranking_section(c),
                           causes_section(c),
                           differences_section(c, false),
                           differences_section(c, true),
                           unsaid_section(c),
                           loss_section(c),
                           doubts_section(c)};
  std::erase_if(all, [](const Section& s) { return s.sentences.empty() && s.rows.empty(); });
  for (auto& section : all) make_printable(section);
  return all;
}

}  // namespace orch::compare
