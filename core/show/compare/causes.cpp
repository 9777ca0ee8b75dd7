#include <algorithm>
#include <cmath>
#include <optional>
#include <set>

#include "core/base/number.h"
#include "core/base/text.h"
#include "core/plan/model.h"
#include "core/plan/vocabulary.h"
#include "core/show/compare/parts.h"

namespace orch::compare {
namespace {

using Differences = std::vector<Difference>;
using Names = std::vector<std::string>;

// A field that is the product of the fields in `times` divided by those in `over`. With `kept`, the
// rule applies only if that field is the same in both groups: accumulation follows from the other
// fields if the global batch is kept.
struct CauseProduct {
  std::string field;
  Names times, over;
  std::string kept = {};
};

const std::vector<CauseProduct>& products() {
  static const std::vector<CauseProduct> kProducts{
      {"data_parallel", {"gpus"}, {"tensor_parallel", "pipeline_parallel"}},
      {"nodes", {"gpus"}, {"gpus_per_node"}},
      {"accumulate", {}, {"micro_batch", "data_parallel"}, "global_batch"},
      {"global_batch", {"micro_batch", "accumulate", "data_parallel"}, {}},
  };
  return kProducts;
}

// A field that follows from any of the fields in `with`.
struct Bundle {
  std::string field;
  Names with;
};

Names model_sizes() {
  Names names{"params"};
  for (const auto& size : plan::kSizes)
    if (size.name != std::string_view("seq")) names.emplace_back(size.name);
  return names;
}

const std::vector<Bundle>& bundles() {
  static const std::vector<Bundle> kBundles{
      {"framework", {"strategy"}},
      {"zero_stage", {"stage"}},
      {"partition", {"cluster"}},
      {"gpu", {"cluster", "partition"}},
      {"gpus_per_node", {"cluster", "partition"}},
      {"model", model_sizes()},
  };
  return kBundles;
}

bool differs(const Differences& all, const std::string& field, std::size_t group) {
  return standing_of(all, field, group) == FieldAgreement::differs;
}

Names differing(const Differences& all, const Names& fields, std::size_t group) {
  Names out;
  for (const auto& field : fields)
    if (differs(all, field, group)) out.push_back(field);
  return out;
}

std::optional<double> number(const FieldValues& said) {
  if (said.values.size() != 1 || said.partly) return std::nullopt;
  return positive(number_from<double>(said.values.front()));
}

// The ratio of a group's number to the first group's. A missing value counts as 1, since a layout
// without tensor parallelism does not state its degree.
std::optional<double> growth(const Differences& all, const std::string& field, std::size_t group) {
  const auto* found = find(all, field);
  if (found == nullptr) return 1.0;
  const auto side = [](const FieldValues& said) {
    return said.values.empty() ? std::optional(1.0) : number(said);
  };
  const auto base = side(found->said.front()), other = side(found->said[group]);
  if (!base || !other) return std::nullopt;
  return *other / *base;
}

bool near(double a, double b, double share) { return std::abs(a - b) <= share * std::abs(b); }

Names product_causes(const Differences& all, const CauseProduct& rule, std::size_t group) {
  if (!rule.kept.empty() && standing_of(all, rule.kept, group) != FieldAgreement::same) return {};
  double expected = 1;
  for (const auto& field : rule.times) expected *= growth(all, field, group).value_or(NAN);
  for (const auto& field : rule.over) expected /= growth(all, field, group).value_or(NAN);
  const auto seen = growth(all, rule.field, group);
  if (!seen || !near(*seen, expected, 1e-6)) return {};
  auto causes = differing(all, rule.times, group);
  for (const auto& field : differing(all, rule.over, group)) causes.push_back(field);
  return causes;
}

// The number of parameters follows from the shape if its growth is between the smallest and the
// largest of 1, the growth of the blocks (layers * hidden^2) and that of the embedding (vocab *
// hidden). The margin of 1.5x is for sizes that are rounded in names.
Names params_causes(const Differences& all, std::size_t group) {
  const auto layers = growth(all, "layers", group), hidden = growth(all, "hidden", group);
  const auto vocab = growth(all, "vocab", group), seen = growth(all, "params", group);
  if (!layers || !hidden || !vocab || !seen) return {};
  const double blocks = *layers * *hidden * *hidden, embedding = *vocab * *hidden;
  const double low = std::min({blocks, embedding, 1.0}) / 1.5;
  const double high = std::max({blocks, embedding, 1.0}) * 1.5;
  if (*seen < low || *seen > high) return {};
  return differing(all, {"layers", "hidden", "vocab"}, group);
}

// A field named after a choice follows from it: powersgd_rank follows from compression = powersgd
// if only one of the two groups has that compression.
Names choice_causes(const Differences& all, const std::string& field, std::size_t group) {
  const auto chose = [&](const FieldValues& said) {
    return std::any_of(said.values.begin(), said.values.end(), [&](const std::string& value) {
      return !value.empty() && field.starts_with(value + "_");
    });
  };
  for (const auto& other : all)
    if (other.field != field && !other.circumstance && differs(all, other.field, group) &&
        chose(other.said.front()) != chose(other.said[group]))
      return {other.field};
  return {};
}

Names causes_of(const Differences& all, const std::string& field, std::size_t group) {
  for (const auto& rule : bundles())
    if (rule.field == field) return differing(all, rule.with, group);
  for (const auto& rule : products())
    if (rule.field == field) return product_causes(all, rule, group);
  return field == "params" ? params_causes(all, group) : choice_causes(all, field, group);
}

// Collects the independent fields that a field follows from, directly or through others.
void add_roots(const Differences& all, const std::string& field, std::size_t group,
               std::set<std::string>& seen, std::set<std::string>& roots) {
  const auto* found = find(all, field);
  if (found == nullptr || !seen.insert(field).second) return;
  if (found->follows[group].empty()) roots.insert(field);
  for (const auto& cause : found->follows[group]) add_roots(all, cause, group, seen, roots);
}

bool explains(const Differences& all, const Difference& cause, std::size_t group, Aspect aspect) {
  return is_on(cause.effect, aspect) ||
         std::ranges::any_of(followers_of(all, cause.field, group),
                             [&](const auto* each) { return is_on(each->effect, aspect); });
}

}  // namespace

std::vector<const Difference*> followers_of(const Differences& all, const std::string& cause,
                                            std::size_t group) {
  std::vector<const Difference*> out;
  for (const auto& difference : all) {
    if (difference.circumstance || difference.follows[group].empty()) continue;
    std::set<std::string> seen, roots;
    add_roots(all, difference.field, group, seen, roots);
    if (roots.contains(cause)) out.push_back(&difference);
  }
  return out;
}

void find_followers(Differences& all, std::size_t groups) {
  for (auto& difference : all)
    for (std::size_t group = 1; group < groups; ++group)
      if (!difference.circumstance && difference.standings[group] == FieldAgreement::differs)
        difference.follows[group] = causes_of(all, difference.field, group);
}

Explanation explain(const Differences& all, std::size_t group, Aspect aspect) {
  Explanation out;
  out.aspect = aspect;
  // If models differ, one may have sizes that the other family does not have.
  const bool model_differs = differs(all, "model", group) || differs(all, "params", group);
  for (const auto& difference : all) {
    const auto& field = difference.field;
    const bool differing = difference.standings[group] == FieldAgreement::differs;
    if (difference.circumstance) {
      if (differing && is_on(difference.effect, aspect)) out.circumstances.push_back(field);
    } else if (differing && difference.follows[group].empty()) {
      if (explains(all, difference, group, aspect)) out.causes.push_back(field);
    } else if (difference.standings[group] == FieldAgreement::one_sided && !difference.argument &&
               is_on(difference.effect, aspect) && !(plan::is_of_model(field) && model_differs)) {
      out.unsaid.push_back(field);
    }
  }
  return out;
}

}  // namespace orch::compare
