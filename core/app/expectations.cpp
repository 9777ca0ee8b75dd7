#include "core/app/expectations.h"

#include <fmt/format.h>

#include "core/app/gather.h"
#include "core/record/quantities.h"
#include "core/show/tables/records.h"

namespace orch::app {
namespace {

using record::Record;

std::string why_short(const Record& record, const plan::Expectation& expected,
                      const std::optional<double>& measured) {
  if (record.state != record::State::finished && record.state != record::State::stopped)
    return tables::verdict_text(record) + (record.reason.empty() ? "" : ": " + record.reason);
  if (!measured) return expected.quantity + " was not measured";
  const double off = 100 * (*measured / expected.value - 1);
  if (expected.below && *measured < expected.least())
    return fmt::format("{:.1f} % below, {:g} % are allowed", -off, 100 * *expected.below);
  if (expected.above && *measured > *expected.most())
    return fmt::format("{:.1f} % above, {:g} % are allowed", off, 100 * *expected.above);
  return "";
}

}  // namespace

std::optional<double> measured_quantity(const Record& record, const std::string& quantity) {
  const auto* found = record::find_quantity(quantity);
  const auto value = found ? record::measured(*found, record) : std::nullopt;
  return value ? std::optional(value->value) : std::nullopt;
}

Result<std::vector<Judgement>> judge_expected(const std::vector<Record>& records,
                                              const std::vector<plan::Expectation>& expected) {
  std::vector<Judgement> out;
  Errors errors;
  for (const auto& expectation : expected) {
    std::vector<const Record*> chosen;
    if (expectation.where.empty()) {
      for (const auto& record : records) chosen.push_back(&record);
    } else if (auto found = select(records, expectation.where)) {
      chosen = std::move(*found);
    } else {
      for (auto& error : found.error())
        errors.push_back({"expect: where " + error.place, error.fact, error.fix});
    }
    for (const auto* record : chosen) {
      if (record->state == record::State::planned) continue;
      const auto measured = measured_quantity(*record, expectation.quantity);
      out.push_back({record->id, expectation, measured, why_short(*record, expectation, measured)});
    }
  }
  if (!errors.empty()) return errors;
  return out;
}

}  // namespace orch::app
