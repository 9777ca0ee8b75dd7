#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "core/base/text.h"
#include "core/record/published/doubts_checks.h"
#include "core/record/published/flops.h"
#include "core/record/published/said.h"
#include "core/record/statistics/interval.h"

namespace orch::published {
namespace {

using record::Record;

constexpr double kOddFactor = 1.3;    // times of one configuration that are further apart are odd
constexpr double kMemoryApart = 0.1;  // the same of memory, besides 1 GB of rounding

double apart(double a, double b) { return std::max(a, b) / std::min(a, b); }

// A row of a set with something that was measured of it.
struct Point {
  std::size_t row = 0;
  double value = 0;
};

template <class Value>
std::vector<Point> points(const std::vector<std::size_t>& set, Value value) {
  std::vector<Point> out;
  for (const auto i : set)
    if (const std::optional<double> found = value(i)) out.push_back({i, *found});
  return out;
}

// Of two, the other one; of more, their median.
double typical(const std::vector<Point>& points, std::size_t row) {
  if (points.size() == 2) return points[points[0].row == row ? 1 : 0].value;
  std::vector<double> values(points.size());
  std::transform(points.begin(), points.end(), values.begin(),
                 [](const Point& point) { return point.value; });
  return statistics::median(std::move(values));
}

std::string others(const Inquiry& inquiry, const std::vector<Point>& points, std::size_t but_for) {
  std::string out;
  for (const auto& point : points)
    if (point.row != but_for)
      out +=
          fmt::format("{}{:g} ({})", out.empty() ? "" : ", ", point.value, inquiry.name(point.row));
  return out;
}

// Those that are far from the median while most are not. Of two, nobody knows which one is odd.
void doubt_set(Inquiry& inquiry, const std::vector<Point>& set, const char* field, const char* unit,
               const auto& is_far) {
  if (set.size() < 2) return;
  std::vector<std::size_t> odd;
  for (const auto& point : set)
    if (is_far(point.value, typical(set, point.row))) odd.push_back(point.row);
  if (set.size() > 2 && 2 * odd.size() > set.size()) return;  // scattered, with no rule to break
  for (const auto& point : set) {
    if (!contains(odd, point.row)) continue;
    inquiry.add(point.row, set.size() > 2 ? "repeat" : "disagree", field,
                fmt::format("{:g} {} where the same configuration has {}", point.value, unit,
                            others(inquiry, set, point.row)));
  }
}

// Which of two rows has its columns swapped: the one whose time is further from what other rows of
// the same configuration took; nothing if there are none.
std::optional<std::size_t> swapped_one(const Inquiry& inquiry,
                                       const std::vector<std::vector<std::size_t>>& sets,
                                       std::size_t a, std::size_t b) {
  for (const auto& set : sets) {
    if (!contains(set, a) && !contains(set, b)) continue;
    std::vector<double> times;
    for (const auto i : set)
      if (i != a && i != b && step_time(inquiry.rows[i]))
        times.push_back(*step_time(inquiry.rows[i]));
    if (times.empty()) continue;
    const double usual = statistics::median(times);
    return apart(*step_time(inquiry.rows[a]), usual) > apart(*step_time(inquiry.rows[b]), usual)
               ? a
               : b;
  }
  return std::nullopt;
}

bool same_run(const Record& a, const Record& b) {
  constexpr std::array kSame{"gpus", "layers", "hidden", "params", "global_batch"};
  return a.source == b.source && std::all_of(kSame.begin(), kSame.end(), [&](const char* name) {
           return a.field_number(name) == b.field_number(name);
         });
}

void add_swap(Inquiry& inquiry, std::size_t i, std::size_t other, bool sure) {
  const auto& row = inquiry.rows[i];
  inquiry.add(i, "swapped", "step_seconds, tflops_per_gpu",
              fmt::format("{:g} s and {:g} TFLOPs are those of {} swapped{}", *step_time(row),
                          *stated_tflops(row), inquiry.name(other),
                          sure ? "" : ", and one of the two rows is wrong"));
}

constexpr double kNoise = 0.02;       // of two step times on one machine
constexpr double kMoreSamples = 1.2;  // fewer are lost in the noise
constexpr double kSlower = 1.1;       // with another micro-batch
constexpr double kJump = 1.3;         // where a micro-batch doubles

// A row that has a step time.
struct Timed {
  std::size_t row = 0;
  double seconds = 0;
  double samples = 0;  // of a step
  std::int64_t micro_batch = 0;
};

std::vector<Timed> timed(const Inquiry& inquiry, const std::vector<std::size_t>& set) {
  std::vector<Timed> out;
  for (const auto i : set) {
    const auto& row = inquiry.rows[i];
    const auto seconds = step_seconds(row);
    const auto micro_batch = row.whole("micro_batch");
    if (seconds && micro_batch) out.push_back({i, *seconds, *batch_of(row), *micro_batch});
  }
  return out;
}

// What a sample surely costs: with recomputation only where it is said.
std::optional<double> sample_flops(const Record& row) {
  std::optional<double> least;
  const auto said = row.field_text("recompute");
  for (const auto& way : conventions(row)) {
    if (way.recompute != (said == "true" || said == "full")) continue;
    if (!least || way.flops < *least) least = way.flops;
  }
  return least;
}

// The samples that the larger batch has more, in the time that it took more: TFLOPs per GPU, if
// they are above the peak.
std::optional<double> impossible_rate(const Inquiry& inquiry, const Timed& small,
                                      const Timed& large, double more_seconds) {
  const auto& row = inquiry.rows[large.row];
  const auto flops = sample_flops(row);
  const auto& gpu = inquiry.gpus[large.row];
  if (!flops || !gpu || gpu->peak_tflops <= 0) return std::nullopt;
  const double rate =
      (large.samples - small.samples) * *flops / more_seconds / *row.field_number("gpus") / 1e12;
  return rate > gpu->peak_tflops ? std::optional(rate) : std::nullopt;
}

// Why the smaller batch cannot have taken so long, beside the larger one; "" if it can.
std::string too_slow(const Inquiry& inquiry, const Timed& small, const Timed& large) {
  if (large.samples < kMoreSamples * small.samples) return "";
  if (small.micro_batch > large.micro_batch || 2 * small.micro_batch < large.micro_batch) return "";
  const bool other_micro_batch = small.micro_batch != large.micro_batch;
  if (other_micro_batch && small.seconds < kSlower * large.seconds) return "";
  auto words =
      fmt::format("a batch of {:.0f} takes {:.5g} s, one of {:.0f} {:.5g} s ({})", small.samples,
                  small.seconds, large.samples, large.seconds, inquiry.name(large.row));
  const double more = large.seconds - (1 - kNoise) * small.seconds;
  if (other_micro_batch || more <= 0) return words;
  const auto rate = impossible_rate(inquiry, small, large, more);
  if (!rate) return "";
  return words + fmt::format(
                     ": the {:.0f} samples more would run at {:.0f} TFLOPs per GPU, above "
                     "the peak of {:g}",
                     large.samples - small.samples, *rate, inquiry.gpus[large.row]->peak_tflops);
}

void doubt_smaller_batch(Inquiry& inquiry, const std::vector<Timed>& set, const Timed& small) {
  for (const auto& large : set) {
    const auto why = too_slow(inquiry, small, large);
    if (why.empty()) continue;
    inquiry.add(small.row, "scaling", "step_seconds, global_batch", why);
    return;  // one witness is enough
  }
}

// The fastest of each micro-batch.
std::map<std::int64_t, Timed> by_micro_batch(const std::vector<Timed>& set) {
  std::map<std::int64_t, Timed> out;
  for (const auto& row : set) {
    const auto [best, added] = out.try_emplace(row.micro_batch, row);
    if (!added && row.seconds < best->second.seconds) best->second = row;
  }
  return out;
}

// What a micro-batch costs besides its samples makes a step A + B / micro-batch long. So doubling
// it twice saves at first twice as much as then.
void doubt_micro_batch(Inquiry& inquiry, const Timed& one, const Timed& two, const Timed& four) {
  const double first = one.seconds - two.seconds, second = two.seconds - four.seconds;
  if (one.seconds < kJump * two.seconds || first < 4 * std::max(0.0, second)) return;
  inquiry.add(
      one.row, "scaling", "step_seconds, micro_batch",
      fmt::format("micro-batch {} takes {:.5g} s, {} takes {:.5g} s ({}) and {} {:.5g} s "
                  "({}): that is not a cost per micro-batch",
                  one.micro_batch, one.seconds, two.micro_batch, two.seconds, inquiry.name(two.row),
                  four.micro_batch, four.seconds, inquiry.name(four.row)));
}

}  // namespace

void doubt_swaps(Inquiry& inquiry) {
  const auto sets = alike(inquiry, {});
  std::map<std::pair<double, double>, std::size_t> first;  // by time and TFLOPs
  for (std::size_t i = 0; i < inquiry.rows.size(); ++i) {
    const auto& row = inquiry.rows[i];
    if (!step_time(row) || !stated_tflops(row) || *step_time(row) == *stated_tflops(row)) continue;
    first.try_emplace({*step_time(row), *stated_tflops(row)}, i);
    const auto found = first.find({*stated_tflops(row), *step_time(row)});
    if (found == first.end() || !same_run(row, inquiry.rows[found->second])) continue;
    const auto other = found->second;
    const auto wrong = swapped_one(inquiry, sets, other, i);
    if (wrong.value_or(other) == other) add_swap(inquiry, other, i, wrong.has_value());
    if (wrong.value_or(i) == i) add_swap(inquiry, i, other, wrong.has_value());
  }
}

void doubt_repeats(Inquiry& inquiry) {
  for (const auto& set : alike(inquiry, {})) {
    const auto times = points(set, [&](std::size_t i) { return step_seconds(inquiry.rows[i]); });
    doubt_set(inquiry, times, "step_seconds", "s",
              [](double a, double b) { return apart(a, b) > kOddFactor; });
    const auto days =
        points(set, [&](std::size_t i) { return inquiry.rows[i].measured.days_per_100b_tokens; });
    doubt_set(inquiry, days, "days_per_100b_tokens", "days",
              [](double a, double b) { return apart(a, b) > kOddFactor; });
    const auto memory = points(set, [&](std::size_t i) { return memory_gib(inquiry.rows[i]); });
    doubt_set(inquiry, memory, "peak_memory", "GB", [](double a, double b) {
      return std::abs(a - b) > kMemoryApart * std::min(a, b) + 1;
    });
  }
}

void doubt_batches(Inquiry& inquiry) {
  for (const auto& all : alike(inquiry, kBatch)) {
    const auto set = timed(inquiry, all);
    for (const auto& row : set) doubt_smaller_batch(inquiry, set, row);
  }
  for (const auto& all : alike(inquiry, {"mbs", "gas", "pp_chunks", "grad_accum"})) {
    const auto set = timed(inquiry, all);
    const auto best = by_micro_batch(set);
    for (const auto& row : set) {
      const auto two = best.find(2 * row.micro_batch), four = best.find(4 * row.micro_batch);
      if (two != best.end() && four != best.end())
        doubt_micro_batch(inquiry, row, two->second, four->second);
    }
  }
}

}  // namespace orch::published
