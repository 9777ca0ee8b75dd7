#include <fmt/format.h>

#include <optional>
#include <set>

#include "core/base/text.h"
#include "core/base/units.h"
#include "core/plan/vocabulary.h"
#include "core/record/quantities.h"
#include "core/show/compare/parts.h"

namespace orch::compare {
namespace {

using record::Record;

// The tokens of a step, if all records have the same.
std::optional<double> common_tokens(const Cohort& group) {
  const auto first = record::tokens_per_step(*group.records.front());
  for (const auto* record : group.records)
    if (record::tokens_per_step(*record) != first) return std::nullopt;
  return first;
}

// Fields of a list in which the two differ, as changes; one-sided ones too where asked.
std::vector<std::string> changes(const Pair& pair, const std::vector<std::string>& fields,
                                 bool one_sided) {
  std::vector<std::string> out;
  for (const auto& field : fields) {
    const auto standing = standing_of(*pair.differences, field, pair.group);
    if (standing == Standing::differs || (one_sided && standing == Standing::one_sided))
      out.push_back(change_text(*find(*pair.differences, field), pair.group));
  }
  return out;
}

std::vector<std::string> model_changes(const Pair& pair) {
  std::vector<std::string> fields;
  for (const auto& term : plan::vocabulary()) {
    if (term.name == "seq" || !plan::is_of_model(term.name)) continue;
    const auto* found = find(*pair.differences, std::string(term.name));
    if (found != nullptr && found->effect.any()) fields.emplace_back(term.name);
  }
  return changes(pair, fields, false);
}

std::set<std::string> memory_sources(const Cohort& group) {
  std::set<std::string> out;
  for (const auto* record : group.records)
    if (record->measured.peak_memory_bytes) out.insert(record->measured.peak_memory_from);
  return out;
}

std::string memory_reason(const Pair& pair) {
  auto base = memory_sources(*pair.base), other = memory_sources(*pair.other);
  base.erase("");
  other.erase("");
  if (base.empty() || other.empty() || base == other) return "";
  return fmt::format("measured in different ways: {} and {}",
                     join(std::vector(base.begin(), base.end()), ", "),
                     join(std::vector(other.begin(), other.end()), ", "));
}

std::string step_reason(const Pair& pair) {
  if (pair.same_size) return "";
  const auto models = model_changes(pair);
  if (!models.empty()) return "steps of different models: " + join(models, ", ");
  if (same_tokens_per_step(pair)) return "";
  const auto base = common_tokens(*pair.base), other = common_tokens(*pair.other);
  if (base && other)
    return fmt::format("a step is {} tokens in one and {} in the other", group_digits(*base),
                       group_digits(*other));
  return "nobody knows whether a step has as many tokens in both";
}

bool says_tflops(const Record& record) { return !record.measured.tflops.empty(); }

}  // namespace

bool same_tokens_per_step(const Pair& pair) {
  const auto base = common_tokens(*pair.base), other = common_tokens(*pair.other);
  if (base && other) return *base == *other;
  if (base || other) return false;
  return changes(pair, {"global_batch", "micro_batch", "accumulate", "data_parallel", "seq"}, true)
      .empty();
}

std::string not_comparable(const Metric& metric, const Pair& pair) {
  if (metric.name == "step_seconds") return step_reason(pair);
  if (metric.aspect == Aspect::memory) return memory_reason(pair);
  if (metric.convention == kUnsaidConvention)
    return "by a convention that is not said: nobody knows whether both count alike";
  return "";
}

std::vector<std::string> warnings_of(const Pair& pair) {
  std::vector<std::string> out;
  if (const auto models = model_changes(pair); !models.empty() && !pair.same_size)
    out.push_back("the models differ, so this is no comparison of equals: " + join(models, ", "));
  if (const auto seq = changes(pair, {"seq"}, false); !seq.empty())
    out.push_back("sequences differ (" + seq.front() +
                  "): a token of a longer one takes more work and sees more context");
  if (const auto vocab = changes(pair, {"vocab"}, false); !vocab.empty())
    out.push_back("vocabularies differ (" + vocab.front() +
                  "): a loss per token of one is no loss per token of the other");
  if (const auto gpus = changes(pair, {"gpus"}, false); !gpus.empty())
    out.push_back(
        "GPUs differ (" + gpus.front() +
        "): days and tokens per second are of the whole run, GPU-hours say what it costs");
  if (const auto again = changes(pair, {"recompute"}, false);
      !again.empty() && pair.base->any(says_tflops) && pair.other->any(says_tflops))
    out.push_back("recomputation differs (" + again.front() +
                  "): TFLOPs that count it go up without more speed");
  return out;
}

}  // namespace orch::compare
