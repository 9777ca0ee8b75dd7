#include <fmt/format.h>

#include <cmath>

#include "core/base/units.h"
#include "core/show/compare/parts.h"

namespace orch::compare {

std::string number_text(double value, int digits) {
  return digits < 0 ? format_number(value) : fmt::format("{:.{}f}", value, digits);
}

namespace {

using statistics::Interval;

double shown(const Metric& metric, double value) {
  const auto* quantity = record::find_quantity(metric.name);
  return quantity ? record::in_unit(quantity->unit, value) : value;
}

int digits_of(const Metric& metric) { return metric.name == "peak_memory_bytes" ? 1 : -1; }

Interval shown(const Metric& metric, const Interval& interval) {
  return interval.times(shown(metric, 1));
}

std::string place_text(const Losses& losses, double at) {
  return (losses.axis == "tokens" ? format_tokens(at) : group_digits(at)) + " " + losses.axis;
}

std::vector<std::string> place_row(const std::string& name, const Losses& losses,
                                   const LossPlace& place) {
  return {name,
          fmt::format("{:.0f} %", place.share * 100),
          place_text(losses, place.at),
          fmt::format("{:.4g}", place.base),
          fmt::format("{:.4g}", place.other),
          fmt::format("{:+.3g}", place.other - place.base),
          place.error ? fmt::format("{:.2g}", *place.error) : "not known"};
}

std::string spike_text(const record::Spike& spike) {
  const auto back = spike.recovered == 0 ? std::string("never back")
                                         : fmt::format("back at step {}", spike.recovered);
  return fmt::format("at step {}{} the loss jumps from {:.4g} to {:.4g}, {}", spike.step,
                     spike.at_resume ? ", after a resume," : "", spike.before, spike.peak, back);
}

void add_spikes(const std::string& name, const std::vector<record::Spike>& spikes, Section& out) {
  constexpr std::size_t kJumps = 5;
  for (std::size_t i = 0; i < spikes.size() && i < kJumps; ++i)
    out.sentences.push_back(name + ": " + spike_text(spikes[i]));
  if (spikes.size() > kJumps)
    out.sentences.push_back(fmt::format("{}: {} more jumps", name, spikes.size() - kJumps));
}

// Of the losses that are numbers.
std::string numbers_text(const Losses& losses) {
  if (!losses.why_not.empty()) return "the losses cannot be aligned: " + losses.why_not;
  const auto& end = losses.places.back();
  const auto ends =
      fmt::format("{:.4g} against {:.4g} at {}", end.other, end.base, place_text(losses, end.at));
  if (!losses.noise_known) return ends + "; too few points to know the noise of the losses";
  if (!losses.apart_from) return "the losses are the same within the noise of the curves: " + ends;
  const auto parts =
      "; beyond the noise of the curves from " + place_text(losses, *losses.apart_from);
  if (!losses.apart_at_end)
    return "at the end the losses are the same within the noise of the curves: " + ends + parts +
           " for a while";
  return fmt::format("the loss ends {} by {:.3g}: {}", end.other < end.base ? "lower" : "higher",
                     std::abs(end.other - end.base), ends) +
         parts;
}

std::string nan_part(const Losses::Side& side) {
  if (side.nan.empty() && !side.lost) return "";
  return fmt::format("the loss of {} {} NaN{}; ", side.id, side.lost ? "became" : "was",
                     side.nan.starts_with("NaN") ? side.nan.substr(3) : "");
}

}  // namespace

std::string interval_text(const Interval& interval, int digits) {
  auto out = number_text(interval.value, digits);
  if (!interval.has_limits()) return out;
  return out + fmt::format(" ({} to {})", number_text(*interval.low, digits),
                           number_text(*interval.high, digits));
}

std::string measured_text(const Metric& metric, const Value& value) {
  if (!value.measured) return "not measured";
  auto out = interval_text(shown(metric, *value.measured), digits_of(metric));
  if (value.lowest)
    out += fmt::format(" ({} to {}, range of {})",
                       number_text(shown(metric, *value.lowest), digits_of(metric)),
                       number_text(shown(metric, *value.highest), digits_of(metric)), value.runs);
  return value.doubtful.empty() ? out : out + " ?";
}

std::string estimated_text(const Metric& metric, const Value& value) {
  if (!value.estimated) return "not estimated";
  return interval_text(shown(metric, *value.estimated), digits_of(metric));
}

std::string losses_text(const Losses& losses) {
  const auto nan = nan_part(losses.base) + nan_part(losses.other);
  return nan.empty() ? numbers_text(losses)
                     : nan + "of what both have as numbers: " + numbers_text(losses);
}

Section loss_section(const Comparison& c) {
  Section out{"Loss at the same tokens", {}, {}};
  for (const auto& against : c.against) {
    const auto& losses = against.losses;
    const auto& name = c.groups[against.group].name;
    if (losses.present)
      out.sentences.push_back(fmt::format("{} ({}) against {} ({}): {}", name, losses.other.id,
                                          c.groups.front().name, losses.base.id,
                                          losses_text(losses)));
    for (const auto& place : losses.places) out.rows.push_back(place_row(name, losses, place));
    if (against.group == 1) add_spikes(c.groups.front().name, losses.base.spikes, out);
    add_spikes(name, losses.other.spikes, out);
  }
  if (!out.rows.empty())
    out.rows.insert(out.rows.begin(), {"group", "of the range", "at", c.groups.front().name,
                                       "the group", "difference", "standard error"});
  return out;
}

}  // namespace orch::compare
