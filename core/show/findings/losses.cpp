#include <fmt/format.h>

#include <cmath>
#include <map>

#include "core/base/units.h"
#include "core/show/findings/compared.h"

namespace orch::findings {
namespace {

using compare::Losses;

std::string on_axis(const Losses& losses, double at) {
  return losses.axis == "tokens" ? format_tokens(at) : group_digits(at);
}

std::string why_not_text(const Losses& losses) {
  const auto range = [&](const Losses::Side& side) {
    return on_axis(losses, side.from) + " to " + on_axis(losses, side.to);
  };
  static const std::map<Losses::AlignmentResult, std::string> kTexts{
      {Losses::AlignmentResult::tokens_of_one, "the tokens of only one are known"},
      {Losses::AlignmentResult::no_tokens,
       "tokens are not known, and steps may have another number of them"},
      {Losses::AlignmentResult::no_numbers, "no finite loss in one of them"},
      {Losses::AlignmentResult::no_curve,
       "there is no curve, and the last losses are not known to be at the same tokens"}};
  if (losses.why_not != Losses::AlignmentResult::nothing_in_common)
    return kTexts.at(losses.why_not);
  return fmt::format("no {} in common: {} and {}", losses.axis, range(losses.base),
                     range(losses.other));
}

// Over the losses that are numbers.
std::string numbers_text(const Losses& losses) {
  if (losses.why_not != Losses::AlignmentResult::aligned)
    return "the losses cannot be aligned: " + why_not_text(losses);
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

std::string place_text(const Losses& losses, double at) {
  return on_axis(losses, at) + " " + losses.axis;
}

std::string losses_text(const Losses& losses) {
  const auto nan = nan_part(losses.base) + nan_part(losses.other);
  return nan.empty() ? numbers_text(losses)
                     : nan + "of what both have as numbers: " + numbers_text(losses);
}

std::string spike_text(const record::Spike& spike) {
  const auto back = spike.recovered == 0 ? std::string("never back")
                                         : fmt::format("back at step {}", spike.recovered);
  return fmt::format("at step {}{} the loss jumps from {:.4g} to {:.4g}, {}", spike.step,
                     spike.at_resume ? ", after a resume," : "", spike.before, spike.peak, back);
}

std::string node_text(const record::OutlierNode& node) {
  return fmt::format("{}: {} {}, others {}", node.name, node.what, format_number(node.value),
                     format_number(node.typical));
}

}  // namespace orch::findings
