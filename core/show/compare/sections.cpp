#include <fmt/format.h>

#include <algorithm>

#include "core/base/text.h"
#include "core/base/units.h"
#include "core/show/compare/parts.h"

namespace orch::compare {
namespace {

using Row = std::vector<std::string>;

constexpr std::size_t kShownIds = 4;  // ids of a group

std::string kind_text(const Taken& group) {
  if (group.kind == Kind::one) return "one run";
  return fmt::format("{}{}", group.ids.size(),
                     group.kind == Kind::repeats ? " repeats" : " runs, a mixture");
}

Section groups_section(const Comparison& c) {
  Section out{"Groups", {{"group", "what", "outcome", "records"}}, {}};
  for (const auto& group : c.groups) {
    if (group.name != group.title) out.sentences.push_back(group.name + " is " + group.title);
    out.rows.push_back(
        {group.name, kind_text(group), group.outcome, first_of(group.ids, kShownIds)});
    if (!group.nothing.empty())
      out.sentences.push_back(group.name + ": " + join(group.nothing, ": "));
  }
  return out;
}

// A group as one speaks of it: fsdp of "strategy=fsdp", a file without its folders.
std::string spoken(const Comparison& c, std::size_t group) {
  const auto field_of = [](const std::string& title) {
    return title.find(',') == std::string::npos ? title.substr(0, title.find('=') + 1) : "";
  };
  const auto& title = c.groups[group].title;
  const auto field = field_of(title);
  if ((field == "strategy=" || field == "framework=") &&
      std::all_of(c.groups.begin(), c.groups.end(),
                  [&](const Taken& other) { return field_of(other.title) == field; }))
    return title.substr(field.size());
  return title.find('=') == std::string::npos ? title.substr(title.find_last_of('/') + 1) : title;
}

// "fsdp is 1.29x faster than deepspeed", whichever of the two it is.
std::string who_wins(const Comparison& c, std::size_t group, const Judgement& judgement,
                     std::string_view comparative) {
  const auto& ratio = *judgement.ratio;
  const bool other = ratio.value >= 1;
  return fmt::format("{} is {}{:.2f}x {} than {}", spoken(c, other ? group : 0),
                     judgement.estimated ? "estimated to be " : "",
                     other ? ratio.value : 1 / ratio.value, comparative,
                     spoken(c, other ? 0 : group));
}

// "95 %: 1.21 to 1.38", in favour of the winner; ranges of estimates are of 90 %.
std::string limits_text(const Judgement& judgement) {
  const auto& ratio = *judgement.ratio;
  if (!ratio.has_limits()) return "";
  const bool other = ratio.value >= 1;
  return fmt::format("{} %: {:.2f} to {:.2f}", judgement.estimated ? 90 : 95,
                     other ? *ratio.low : 1 / *ratio.high, other ? *ratio.high : 1 / *ratio.low);
}

// "on 8 and 16 GPUs", "(8 GPUs, seq 1024; 16 GPUs, seq 2048)".
std::string places_text(const LikeForLike& pairs) {
  constexpr std::string_view kGpus = " GPUs";
  Row counts, places;
  for (const auto& twins : pairs.pairs) {
    places.push_back(twins.where);
    if (twins.where.ends_with(kGpus))
      counts.push_back(twins.where.substr(0, twins.where.size() - kGpus.size()));
  }
  const auto plain = [](const std::string& count) {
    return count.find_first_not_of("0123456789") == std::string::npos;
  };
  if (counts.size() == places.size() && std::all_of(counts.begin(), counts.end(), plain))
    return "on " + and_list(counts) + std::string(kGpus);
  if (places.size() > kShownIds) return "";
  return "(" + join(places, "; ") + ")";
}

// The sentence to repeat to a colleague, and how far it can be trusted.
void add_pairs(const Comparison& c, const LikeForLike& pairs, Section& out) {
  const auto& judgement = pairs.judgement;
  if (judgement.verdict == Verdict::missing) return;
  auto found = plural(pairs.pairs.size(), "pair");
  if (const auto places = places_text(pairs); !places.empty()) found += " " + places;
  if (const auto limits = limits_text(judgement); !limits.empty()) found += "; " + limits;
  const std::string_view comparative = pairs.per_gpu ? "faster per GPU" : "faster";
  if (judgement.verdict == Verdict::better || judgement.verdict == Verdict::worse)
    out.sentences.push_back(fmt::format("Like for like, {}: {}.",
                                        who_wins(c, pairs.group, judgement, comparative), found));
  else
    out.sentences.push_back(fmt::format("Like for like, {} and {} cannot be told apart: {}.",
                                        spoken(c, 0), spoken(c, pairs.group),
                                        judgement.text + ", " + found));
  if (!pairs.weaknesses.empty())
    out.sentences.push_back("How sure: " + join(pairs.weaknesses, "; ") + ".");
}

// What is to be said against a number, where the text of a judgement says it.
std::string reservations(const Judgement& judgement) {
  const auto at = judgement.text.find(';');
  return at == std::string::npos ? "" : judgement.text.substr(at);
}

// What two groups come to, in one line.
std::string judged_text(const Comparison& c, const Against& against, std::size_t metric) {
  const auto& judgement = against.judgements[metric];
  const auto& m = c.metrics[metric];
  const bool decided = judgement.verdict == Verdict::better || judgement.verdict == Verdict::worse;
  const bool mixture =
      c.groups.front().kind == Kind::mixture || c.groups[against.group].kind == Kind::mixture;
  if (!decided || !judgement.ratio || m.aspect != Aspect::speed || mixture || !m.convention.empty())
    return fmt::format("{}{} against {}: {}: {}", mixture ? "of all, which are mixtures, " : "",
                       c.groups[against.group].name, c.groups.front().name, m.title,
                       judgement.text);
  const bool other = judgement.ratio->value >= 1;
  const auto shown = [&](std::size_t group) {
    return number_text(m.values[group].of(judgement.estimated)->value);
  };
  const auto limits = limits_text(judgement);
  return fmt::format("{}{}: {} against {} {}{}", who_wins(c, against.group, judgement, "faster"),
                     limits.empty() ? "" : " (" + limits + ")", shown(other ? against.group : 0),
                     shown(other ? 0 : against.group), m.title, reservations(judgement));
}

std::string headline_text(const Comparison& c, const Against& against) {
  const auto start = c.groups[against.group].name + " against " + c.groups.front().name + ": ";
  if (against.itself) return start + "the same records: there is nothing to compare";
  if (against.outcome.verdict != Verdict::missing) return start + against.outcome.text;
  const auto* metric = headline(c);
  for (std::size_t i = 0; metric != nullptr && i < c.metrics.size(); ++i)
    if (&c.metrics[i] == metric && against.judgements[i].verdict != Verdict::missing)
      return judged_text(c, against, i);
  for (std::size_t i = 0; i < c.metrics.size(); ++i)
    if (against.judgements[i].ratio) return judged_text(c, against, i);
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

// The judgement, and what of the estimates has no column.
std::string judgement_text(const Metric& metric, const Value& value, const Judgement* judgement,
                           bool estimate) {
  Row parts;
  if (judgement) parts.push_back(judgement->text);
  if (judgement && judgement->predicted && !judgement->estimated)
    parts.push_back("predicted " + interval_text(*judgement->predicted, 2));
  if (judgement && judgement->as_predicted)
    parts.emplace_back(*judgement->as_predicted ? "as predicted" : "not as predicted");
  if (estimate && value.estimated) parts.push_back("estimated " + estimated_text(metric, value));
  return join(parts, "; ");
}

Row value_row(const Comparison& c, std::size_t metric, std::size_t group, bool column, bool below) {
  const auto& m = c.metrics[metric];
  const auto& value = m.values[group];
  const auto* judgement = group > 0 ? &c.against[group - 1].judgements[metric] : nullptr;
  Row row{group == 0 ? m.title : "", c.groups[group].name, measured_text(m, value)};
  if (column) row.push_back(estimated_text(m, value));
  row.push_back(judgement_text(m, value, judgement, below));
  return row;
}

Section short_section(const Comparison& c) {
  Section out{"In short", {}, {}};
  for (const auto& pairs : c.pairs) add_pairs(c, pairs, out);
  for (const auto& against : c.against) out.sentences.push_back(headline_text(c, against));
  for (const auto& best : c.best) out.sentences.push_back(best_text(c, best));
  return out;
}

Section pairs_section(const Comparison& c) {
  Section out{"Like for like: records that differ in nothing else", {}, {}};
  for (const auto& pairs : c.pairs)
    for (const auto& twins : pairs.pairs) {
      const auto shown = [&](const Value& value) {
        return number_text(value.of(twins.judgement.estimated)->value) +
               (value.doubtful.empty() ? "" : " ?");
      };
      Row remarks;
      if (!twins.differs.empty()) remarks.push_back("differs: " + join(twins.differs, ", "));
      if (!twins.unsaid.empty()) remarks.push_back("not both say: " + join(twins.unsaid, ", "));
      out.rows.push_back({twins.where, twins.base_id, shown(twins.base), twins.id,
                          shown(twins.value), fmt::format("{:.2f}", twins.judgement.ratio->value),
                          join(remarks, "; ")});
    }
  if (out.rows.empty()) return out;
  const bool per_gpu = std::any_of(c.pairs.begin(), c.pairs.end(),
                                   [](const LikeForLike& pairs) { return pairs.per_gpu; });
  const std::string unit = per_gpu ? "GPU-hours" : "days";
  out.rows.insert(out.rows.begin(), {"where", c.groups.front().name, unit,
                                     c.groups.size() == 2 ? c.groups[1].name : "against it", unit,
                                     "its speed, times " + c.groups.front().name + "'s", ""});
  return out;
}

Section result_section(const Comparison& c, bool narrow) {
  Section out{"Result", {}, {}};
  for (const auto& against : c.against)
    for (const auto& warning : against.warnings)
      out.sentences.push_back(c.groups[against.group].name + " against " + c.groups.front().name +
                              ": " + warning);
  out.sentences.insert(out.sentences.end(), c.notes.begin(), c.notes.end());
  if (c.metrics.empty()) return out;
  const bool below = narrow && any_estimate(c), column = !narrow && any_estimate(c);
  Row head{"metric", "group", "measured (95 %)"};
  if (column) head.emplace_back("estimated (90 %)");
  head.push_back("against " + c.groups.front().name);
  out.rows.push_back(std::move(head));
  for (std::size_t i = 0; i < c.metrics.size(); ++i)
    for (std::size_t g = 0; g < c.groups.size(); ++g)
      out.rows.push_back(value_row(c, i, g, column, below));
  return out;
}

std::string effect_text(plan::Changes effect) {
  Row parts;
  for (const auto aspect : kAspects)
    if (is_on(effect, aspect)) parts.emplace_back(name(aspect));
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
                                          c.groups.front().name, and_list(aspects), all[i].text));
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

std::vector<Section> sections(const Comparison& c, bool narrow) {
  std::vector<Section> all{short_section(c),
                           pairs_section(c),
                           groups_section(c),
                           result_section(c, narrow),
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
