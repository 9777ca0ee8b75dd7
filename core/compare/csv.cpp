#include <fmt/format.h>

#include <cmath>

#include "core/base/text.h"
#include "core/compare/compare.h"

namespace orch::compare {
namespace {

using statistics::Interval;

constexpr std::string_view kHead =
    "metric,convention,better,group,value,low,high,runs,estimated,estimated_low,estimated_high,"
    "ratio,ratio_low,ratio_high,predicted,predicted_low,predicted_high,verdict,doubtful,text\n";

std::string cell(const std::string& text) {
  auto clean = printable(text);
  if (clean.find_first_of(",\"") == std::string::npos) return clean;
  std::string out = "\"";
  for (const char c : clean) out += c == '"' ? std::string("\"\"") : std::string(1, c);
  return out + "\"";
}

std::string number(std::optional<double> value) {
  return value && std::isfinite(*value) ? fmt::format("{:.10g}", *value) : "";
}

std::string three(const std::optional<Interval>& interval) {
  if (!interval) return ",,";
  return number(interval->value) + "," + number(interval->low) + "," + number(interval->high);
}

// The first group stands against nobody.
std::string judged(const Judgement* j) {
  if (j == nullptr) return ",,,,,,,,";
  return fmt::format("{},{},{},{},{}", three(j->ratio), three(j->predicted), name(j->verdict),
                     j->doubtful, cell(j->text));
}

}  // namespace

std::string csv(const Comparison& c) {
  std::string out(kHead);
  for (std::size_t i = 0; i < c.metrics.size(); ++i)
    for (std::size_t g = 0; g < c.groups.size(); ++g) {
      const auto& metric = c.metrics[i];
      const auto& value = metric.values[g];
      out += fmt::format("{},{},{},{},{},{},{},{}\n", metric.name, cell(metric.convention),
                         name(metric.better), cell(c.groups[g].name), three(value.measured),
                         value.runs, three(value.estimated),
                         judged(g > 0 ? &c.against[g - 1].judgements[i] : nullptr));
    }
  return out;
}

}  // namespace orch::compare
