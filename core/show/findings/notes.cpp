#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "core/base/text.h"
#include "core/base/units.h"
#include "core/show/findings/compared.h"

// How certain an answer is, and notes on the groups.
namespace orch::findings {
namespace {

using compare::EndKind, compare::GroupKind, compare::VerdictReason, compare::SizeNormalization,
    compare::FieldAgreement, compare::Inequality;
using record::Failure;
using Names = std::vector<std::string>;

// The answer itself has the numbers of GPUs.
const std::map<Inequality, std::string_view> kUnequal{
    {Inequality::models, "the models differ: this is not a comparison of equals"},
    {Inequality::sequences,
     "sequences differ: a token of a longer one takes more work and sees more context"},
    {Inequality::vocabularies, "vocabularies differ: their losses per token do not compare"},
    {Inequality::recomputation,
     "recomputation differs: TFLOPs that count it go up without more speed"}};

// Important fields that only one of the two groups states.
Names half_said(const Comparison& c, std::size_t group) {
  const auto is_half = [&](std::string_view field) {
    return compare::standing_of(c.differences, field, group) == FieldAgreement::one_sided;
  };
  Names out;
  if (is_half("gpus")) out.emplace_back("GPUs");
  if (is_half("seq")) out.emplace_back("sequence length");
  const bool known = !compare::model_changes(c.differences, group).empty();
  if (!known && (is_half("params") || is_half("layers"))) out.emplace_back("model");
  return out;
}

std::string count_text(std::size_t some, std::size_t all) {
  return some == all ? (all == 1 ? "the pair" : fmt::format("all {} pairs", all))
                     : fmt::format("{} of {} pairs", some, all);
}

template <class Test>
std::size_t count(const std::vector<compare::MatchedPair>& pairs, Test test) {
  return static_cast<std::size_t>(std::ranges::count_if(pairs, test));
}

Names pairs_weaknesses(const compare::PairedComparison& all) {
  Names out, unsaid;
  const auto& pairs = all.pairs;
  if (pairs.size() < 3)
    out.emplace_back(pairs.size() == 1 ? "it is one pair" : "there are two pairs only");
  const auto doubtful =
      count(pairs, [](const auto& twins) { return !twins.judgement.doubtful.empty(); });
  if (doubtful > 0)
    out.push_back(fmt::format("{} {} doubtful (see Doubts)", count_text(doubtful, pairs.size()),
                              doubtful == 1 ? "is" : "are"));
  if (all.same_ratio)
    out.emplace_back("all have the same ratio, as if one were computed from the other");
  const auto micro = count(pairs, [](const auto& twins) {
    return std::ranges::any_of(twins.differs,
                               [](const auto& each) { return each.field == "micro_batch"; });
  });
  if (micro > 0) out.push_back("the micro-batch differs in " + count_text(micro, pairs.size()));
  for (const auto& twins : pairs)
    for (const auto& field : twins.unsaid)
      if (!contains(unsaid, field)) unsaid.push_back(field);
  if (!unsaid.empty()) out.push_back("not both say " + join(unsaid, ", "));
  return out;
}

// The data that an answer is based on.
Names numbers_text(const Comparison& c, const GroupComparison& against, const LeadSentence& lead) {
  Names out;
  const auto& judgement = *lead.judgement;
  if (lead.by == LeadSentence::LeadKind::best)
    out.push_back(
        fmt::format("no records of the two differ in nothing else: each is the best of {} "
                    "and {}",
                    c.groups[against.group].ids.size(), c.groups.front().ids.size()));
  if (judgement.estimated) out.emplace_back("all of it is estimated");
  if (const auto reason = reason_text(c, judgement, against.group); !reason.empty())
    out.push_back(reason);
  if (!judgement.doubtful.empty())
    out.push_back("it rests on doubtful numbers of " + first_of(judgement.doubtful, 3) +
                  " (see Doubts)");
  const auto of_steps = [](const compare::ComparedAmount& value) {
    return value.runs == 1 && value.measured && value.measured->has_limits();
  };
  if (lead.by == LeadSentence::LeadKind::groups && judgement.reason == VerdictReason::none &&
      !judgement.estimated &&
      (of_steps(lead.metric->values.front()) || of_steps(lead.metric->values[against.group])))
    out.emplace_back(
        "the interval is of the steps of one run, and how much runs differ is not in it");
  return out;
}

std::string failure_text(Failure failure) {
  static const std::map<Failure, std::string> kTexts{
      {Failure::gpu_memory, "ran out of GPU memory"},
      {Failure::host_memory, "ran out of host memory"},
      {Failure::nan, "lost its loss (not a number)"},
      {Failure::hang, "hung"},
      {Failure::none, "failed"}};
  const auto found = kTexts.find(failure);
  return found != kTexts.end() ? found->second : "failed (" + std::string(name(failure)) + ")";
}

std::string ending_text(const compare::GroupEnding& ending) {
  if (ending.fate == EndKind::lost_loss) return "lost its loss (" + ending.nan + ")";
  if (ending.fate == EndKind::failed) return failure_text(ending.failure);
  if (ending.fate == EndKind::time_limit) return "ran until its time limit";
  if (ending.fate == EndKind::not_run) return "was not run";
  return ending.nan.empty() ? "ran" : "ran (loss " + ending.nan + ")";
}

std::string sizing_text(const Comparison& c) {
  const auto& sizing = c.sizing;
  const auto at =
      fmt::format("times are at the model size of {} ({})", spoken(c, 0), sizing.record);
  if (sizing.by == SizeNormalization::FlopsBy::shape)
    return at + ": by 72 B s L h^2 (1 + s/6h + V/16Lh) FLOPs per step, without recomputation";
  if (sizing.by == SizeNormalization::FlopsBy::params)
    return at + ": by 6 FLOPs per parameter and token, as not all say their shape";
  if (sizing.by == SizeNormalization::FlopsBy::as_it_is) return "";
  return fmt::format(
      "times cannot be brought to the same size: {} says neither its shape (layers, "
      "hidden, vocab, seq) nor its params",
      sizing.record);
}

// Why groups have no estimate, once if the reason is the same for all.
void add_unestimated(const Comparison& c, Names& out) {
  std::vector<std::pair<std::string, Names>> groups;  // by reason
  for (std::size_t g = 0; g < c.groups.size(); ++g) {
    const auto& group = c.groups[g];
    if (group.estimated) continue;
    auto why = group.not_estimated.substr(0, group.not_estimated.find("; "));
    why = (group.measured ? "not estimated" : "neither measured nor estimated") +
          (why.empty() ? "" : ": " + why);
    if (groups.empty() || groups.back().first != why) groups.push_back({why, {}});
    groups.back().second.push_back(spoken(c, g));
  }
  for (const auto& [why, names] : groups) out.push_back(and_list(names) + ": " + why);
}

void add_group(const Comparison& c, std::size_t g, Names& out) {
  const auto& group = c.groups[g];
  const auto say = [&](const std::string& text) { out.push_back(spoken(c, g) + ": " + text); };
  if (group.left_out > 0)
    say(fmt::format("{} of {} records are estimated not to fit and were not run: left out",
                    group.left_out, group.left_out + group.ids.size()));
  if (group.copies > 0)
    say(fmt::format("{} of its records are copies or parts of others: counted once", group.copies));
  if (group.kind == GroupKind::mixture)
    say(
        fmt::format("a mixture of {} records that differ in {}: its median stands for it, with its "
                    "range",
                    group.ids.size(), first_of(group.varies, 8)));
}

}  // namespace

std::string sure_text(const Comparison& c, const GroupComparison& against) {
  const auto lead = lead_of(c, against);
  if (against.itself() || lead.judgement == nullptr) return "";
  Names out;
  if (lead.by != LeadSentence::LeadKind::pairs)
    for (const auto unequal : against.unequal)
      if (kUnequal.contains(unequal)) out.emplace_back(kUnequal.at(unequal));
  if (const auto half = half_said(c, against.group);
      lead.by == LeadSentence::LeadKind::groups && !half.empty())
    out.push_back("only one of the two says its " + and_list(half));
  auto numbers = lead.by == LeadSentence::LeadKind::pairs ? pairs_weaknesses(*lead.pairs)
                                                          : numbers_text(c, against, lead);
  out.insert(out.end(), numbers.begin(), numbers.end());
  return out.empty() ? "" : join(out, "; ") + ".";
}

std::string outcome_text(const compare::GroupSummary& group) {
  if (group.endings.size() == 1) return ending_text(group.endings.front());
  Names parts;
  for (const auto& ending : group.endings)
    parts.push_back(
        fmt::format("{} of {} {}", ending.records, group.ids.size(), ending_text(ending)));
  return join(parts, ", ");
}

std::vector<std::string> notes(const Comparison& c) {
  Names out;
  if (const auto text = sizing_text(c); !text.empty()) out.push_back(text);
  for (const auto& against : c.against) {
    if (against.shared == compare::SharedRecords::some)
      out.push_back(fmt::format("{}: {} of its {} records are in {} as well",
                                spoken(c, against.group), against.shared_records,
                                c.groups[against.group].ids.size(), spoken(c, 0)));
    if (against.repeats)
      out.push_back(
          fmt::format("{} and {} are repeats of one run: what differs is noise, and shows "
                      "how far repeats vary",
                      spoken(c, against.group), spoken(c, 0)));
  }
  add_unestimated(c, out);
  for (std::size_t g = 0; g < c.groups.size(); ++g) add_group(c, g, out);
  return out;
}

std::vector<std::string> doubts(const Comparison& c) {
  Names out;
  for (const auto& [id, doubt] : c.doubts)
    out.push_back(fmt::format("{}: {} is doubtful: {}", id,
                              doubt.field.empty() ? doubt.kind : doubt.field, doubt.reason));
  return out;
}

}  // namespace orch::findings
