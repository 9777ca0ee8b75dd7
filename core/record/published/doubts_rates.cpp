#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/base/text.h"
#include "core/record/published/doubts_checks.h"
#include "core/record/published/flops.h"
#include "core/record/published/said.h"

namespace orch::published {
namespace {

using record::Record;

constexpr double kSame = 0.01;      // besides the rounding of the digits
constexpr double kOtherMean = 0.1;  // between a rate over a whole run and the median of steps
constexpr double kLeastWays = 0.7, kMostWays = 1.4;  // of other conventions' FLOPs to ours

bool is_whole(double value) {
  return value >= 1 && std::abs(value - std::round(value)) < 0.005 * value;
}

// The TFLOPs computed from time and size, compared with the stated ones.
struct RateCheck {
  const Record* row = nullptr;
  RowSpeed rate;
  Convention way;
  double computed = 0;  // TFLOPs per GPU

  double stated() const { return *stated_tflops(*row); }
  double factor() const { return stated() / computed; }
  double slack() const { return kSame + rate.rounding + rounding(stated()); }
  bool agrees() const { return std::abs(factor() - 1) <= slack(); }
};

std::vector<RateCheck> checks(const Record& row, const std::vector<Convention>& ways) {
  std::vector<RateCheck> out;
  for (const auto& rate : rates(row))
    for (const auto& way : ways)
      out.push_back({&row, rate, way, tflops(way, rate, *row.field_number("gpus"))});
  std::stable_sort(out.begin(), out.end(), [](const RateCheck& a, const RateCheck& b) {
    return std::abs(std::log(a.factor())) < std::abs(std::log(b.factor()));
  });
  return out;
}

// "8 GPUs or 29.36 s would fit": values with which stated and computed TFLOPs would agree.
std::string readings(const RateCheck& check, bool batch_first) {
  std::vector<std::string> out;
  const double factor = check.factor();
  const double times = std::max(factor, 1 / factor);
  const auto& row = *check.row;
  const double gpus = *row.field_number("gpus") / factor;
  const double batch = row.field_number("global_batch").value_or(0) * factor;
  if (times > 1.5 && is_whole(times)) {
    if (batch_first && check.rate.field == "step_seconds" && is_whole(batch))
      out.push_back(fmt::format("global_batch {:.0f}", batch));
    else if (is_whole(gpus))
      out.push_back(fmt::format("{:.0f} GPUs", gpus));
  }
  if (check.rate.field == "step_seconds")
    out.push_back(fmt::format("{:.4g} s", *step_time(row) / factor));
  else if (check.rate.field == "samples_per_second")
    out.push_back(fmt::format("{:.4g} samples/s", *row.measured.samples_per_second * factor));
  else
    out.push_back(fmt::format("{:.4g} days", *row.measured.days_per_100b_tokens / factor));
  return join(out, " or ") + " would fit";
}

// "2.3 % more", "2.00 times as much"
std::string factor_words(double factor) {
  if (factor > 1.5 || factor < 0.667) return fmt::format("{:.2f} times as much", factor);
  return fmt::format("{:.1f} % {}", 100 * std::abs(factor - 1), factor > 1 ? "more" : "less");
}

std::string computed_words(const RateCheck& check) {
  return fmt::format("{} on {} GPUs are {:.2f} TFLOPs per GPU ({})", check.rate.words,
                     *check.row->whole("gpus"), check.computed, check.way.words());
}

// The first other convention that agrees; "" if none does.
std::string agreeing(const Record& row) {
  for (const auto& check : checks(row, conventions(row)))
    if (check.agrees()) return check.way.words();
  return "";
}

void doubt_throughput(RowChecks& inquiry, std::size_t i) {
  const auto found = rates(inquiry.rows[i]);
  for (std::size_t k = 1; k < found.size(); ++k) {
    const auto &a = found[0], &b = found[k];
    if (std::abs(a.samples_per_second / b.samples_per_second - 1) <=
        kOtherMean + a.rounding + b.rounding)
      continue;
    inquiry.add(i, "throughput", a.field + ", " + b.field,
                fmt::format("{} are {:.4g} samples/s, {} are {:.4g}", a.words, a.samples_per_second,
                            b.words, b.samples_per_second));
  }
}

// True if time and TFLOPs seem to be in each other's column: their product stays the same.
bool looks_swapped(const Record& row, double peak) {
  return step_time(row) && *stated_tflops(row) > peak && *step_time(row) < peak;
}

bool doubt_stated_peak(RowChecks& inquiry, std::size_t i, double peak) {
  const auto& row = inquiry.rows[i];
  if (!stated_tflops(row) || *stated_tflops(row) <= peak) return false;
  auto reason =
      fmt::format("{:g} TFLOPs per GPU are above the peak of {:g}", *stated_tflops(row), peak);
  const bool swapped = looks_swapped(row, peak);
  if (swapped)
    reason += fmt::format("; {:g} s and {:g} TFLOPs would not be: columns swapped?",
                          *stated_tflops(row), *step_time(row));
  inquiry.add(i, swapped ? "swapped" : "over_peak",
              swapped ? "step_seconds, tflops_per_gpu" : "tflops_per_gpu", reason);
  return true;
}

// Uses the convention with the fewest FLOPs.
bool doubt_computed_peak(RowChecks& inquiry, std::size_t i, const std::vector<Convention>& ways,
                         double peak) {
  const auto& row = inquiry.rows[i];
  const auto found = rates(row);
  if (found.empty() || ways.empty() || !row.whole("gpus") || *row.whole("gpus") < 1) return false;
  const auto way = *std::min_element(
      ways.begin(), ways.end(), [](const auto& a, const auto& b) { return a.flops < b.flops; });
  const auto& rate = found.front();
  const double computed = tflops(way, rate, *row.field_number("gpus"));
  if (computed * (1 - rate.rounding) <= peak) return false;
  const RateCheck check{&row, rate, way, computed};
  auto reason = fmt::format("{}, above the peak of {:g}", computed_words(check), peak);
  if (stated_tflops(row))
    reason += fmt::format("; for the stated {:g}, {}", *stated_tflops(row), readings(check, true));
  inquiry.add(i, "over_peak", rate.field + ", global_batch, gpus", reason);
  return true;
}

void doubt_own_formula(RowChecks& inquiry, std::size_t i, const std::vector<Convention>& own) {
  const auto& row = inquiry.rows[i];
  const auto found = checks(row, own);
  if (found.empty() || found.front().agrees()) return;
  const auto& nearest = found.front();
  auto reason =
      fmt::format("{}, the row says {:g}: {}; {}", computed_words(nearest), nearest.stated(),
                  factor_words(nearest.factor()), readings(nearest, false));
  const auto other = agreeing(row);
  if (!other.empty()) reason += ", and it agrees with " + other;
  inquiry.add(i, "tflops", "tflops_per_gpu, " + nearest.rate.field, reason);
}

// TFLOPs by an unknown formula should be roughly those of our formulas, if these apply to the
// model.
void doubt_unknown_formula(RowChecks& inquiry, std::size_t i) {
  const auto& row = inquiry.rows[i];
  const auto found = checks(row, conventions(row));
  if (found.empty() || !has_usual_size(row)) return;
  const auto [least, most] = std::minmax_element(
      found.begin(), found.end(),
      [](const RateCheck& a, const RateCheck& b) { return a.computed < b.computed; });
  if (found.front().stated() >= kLeastWays * least->computed &&
      found.front().stated() <= kMostWays * most->computed)
    return;
  inquiry.add(i, "tflops", "tflops_per_gpu, " + most->rate.field,
              fmt::format("{} on {} GPUs are {:.1f} to {:.1f} TFLOPs per GPU by any way to count, "
                          "the row says {:g}; {}",
                          most->rate.words, *row.whole("gpus"), least->computed, most->computed,
                          most->stated(), readings(found.front(), false)));
}

}  // namespace

void doubt_rates(RowChecks& inquiry, std::size_t i) {
  const auto& row = inquiry.rows[i];
  doubt_throughput(inquiry, i);
  const auto own = own_conventions(row, inquiry.peers);
  const auto& gpu = inquiry.gpus[i];
  if (gpu && gpu->peak_tflops > 0) {
    const double peak = gpu->peak_tflops;
    if (doubt_stated_peak(inquiry, i, peak)) return;
    if (doubt_computed_peak(inquiry, i, own.empty() ? conventions(row) : own, peak)) return;
  }
  if (!stated_tflops(row) || row.whole("gpus").value_or(0) < 1) return;
  if (own.empty())
    doubt_unknown_formula(inquiry, i);
  else
    doubt_own_formula(inquiry, i, own);
}

}  // namespace orch::published
