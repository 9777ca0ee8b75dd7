#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <set>
#include <span>

#include "core/base/text.h"
#include "core/base/units.h"
#include "core/plan/vocabulary.h"
#include "core/show/findings/compared.h"

// Which fields differ, and which of them can explain a result.
namespace orch::findings {
namespace {

using Names = std::vector<std::string>;

constexpr std::size_t kValues = 6;  // per field, in a text
constexpr std::size_t kCauses = 8;  // listed by name; the others are counted

// "gpus 8 → 32 (with it data_parallel 8 → 32, nodes 1 → 4)": a consequence of several causes is
// listed once.
std::string cause_text(const Comparison& c, const std::string& cause, std::size_t group,
                       std::set<std::string>& said) {
  Names with;
  for (const auto* follower : compare::followers_of(c.differences, cause, group))
    if (said.insert(follower->field).second) with.push_back(change_text(*follower, group));
  const auto out = change_text(*compare::find(c.differences, cause), group);
  return with.empty() ? out : out + " (with it " + join(with, ", ") + ")";
}

Names cause_texts(const Comparison& c, const compare::Explanation& e, std::size_t group) {
  Names out;
  std::set<std::string> said;
  for (const auto& cause : e.causes)
    if (out.size() < kCauses && plan::find_term(cause) != nullptr)
      out.push_back(cause_text(c, cause, group, said));
  if (out.empty() && e.causes.size() == 1)  // the only cause, even if its effect is unknown
    out.push_back(cause_text(c, e.causes.front(), group, said));
  return out;
}

std::string circumstances_text(const Comparison& c, const compare::Explanation& e,
                               std::size_t group) {
  Names out;
  for (const auto& difference : c.differences)
    if (difference.circumstance && contains(e.circumstances, difference.field))
      out.push_back(change_text(difference, group));
  return join(out, "; ");
}

std::string settings_text(const compare::Explanation& e, const Names& causes) {
  const std::string known = e.unsaid.empty() ? "" : "known ";
  if (e.causes.size() == 1)
    return fmt::format("the only {}{} that can explain it: {}", known,
                       e.circumstances.empty() ? "difference" : "setting that differs and",
                       causes.front());
  const auto more = e.causes.size() - causes.size();
  if (causes.empty())
    return fmt::format("{} arguments differ that can explain it (see Settings that differ)", more);
  return fmt::format("{} {}differences can explain it, and this comparison cannot tell which: {}",
                     e.causes.size(), known, join(causes, "; ")) +
         (more == 0
              ? ""
              : fmt::format("; and {} (see Settings that differ)", plural(more, "more argument")));
}

}  // namespace

std::string said_text(const compare::FieldValues& said) {
  if (said.values.empty()) return "not said";
  const auto shown = std::min(said.values.size(), kValues);
  auto out = join(std::span(said.values).first(shown), ", ");
  if (shown < said.values.size()) out += fmt::format(", … ({} values)", said.values.size());
  if (said.partly) out += ", not said";
  return said.assumed ? out + " (assumed)" : out;
}

std::string change_text(const compare::Difference& difference, std::size_t group) {
  return difference.field + " " + said_text(difference.said.front()) + " → " +
         said_text(difference.said[group]);
}

std::string causes_text(const Comparison& c, const GroupComparison& against) {
  const auto lead = lead_of(c, against);
  const bool ended = against.outcome.verdict != compare::PairVerdict::missing;
  if (against.itself() || (lead.by == LeadSentence::LeadKind::nothing && !ended)) return "";
  if (lead.by == LeadSentence::LeadKind::pairs)
    return "The records of a pair differ in " + and_list(lead.pairs->question) + ".";
  const auto& e = against.explanations[static_cast<std::size_t>(lead.aspect)];
  const auto circumstances = circumstances_text(c, e, against.group);
  std::string out;
  if (!e.causes.empty())
    out = settings_text(e, cause_texts(c, e, against.group)) +
          (circumstances.empty() ? "" : ". So can circumstances that differ: " + circumstances);
  else if (!circumstances.empty())
    out = fmt::format("no {}setting differs that can explain it, but circumstances do: {}",
                      e.unsaid.empty() ? "" : "known ", circumstances);
  else
    out = e.unsaid.empty() ? "nothing differs that can explain it: repeats, and noise is left"
                           : "no known difference can explain it";
  if (!e.unsaid.empty()) out += ". Only one of the two says " + first_of(e.unsaid, 4);
  out.front() = static_cast<char>(std::toupper(static_cast<unsigned char>(out.front())));
  return out + ".";
}

}  // namespace orch::findings
