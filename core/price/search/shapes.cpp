#include "core/price/search/shapes.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/base/units.h"

namespace orch::search {
namespace {

constexpr std::size_t kMostShapes = 100'000;
constexpr std::int64_t kNarrowest = 64, kWidest = 256;  // hidden / layers in published models
constexpr std::int64_t kSmallestHead = 64, kLargestHead = 256, kHeadStep = 16, kUsualHead = 128;
constexpr double kHeadsDecide = 0.05;  // largest influence of the heads on the number of parameters

// The sizes for a number of layers, by the multiple of hidden: parameters grow with it.
struct ShapeSizes {
  const MakeModel& model;
  std::int64_t layers;
  std::int64_t multiple;

  // With a usual number of heads: if there are fewer key-value heads, heads affect the parameters a
  // little.
  double params(std::int64_t times) const {
    const auto hidden = times * multiple;
    return model({layers, hidden, std::max<std::int64_t>(1, hidden / kUsualHead)}).params();
  }
  // The smallest multiple with at least this many parameters.
  std::int64_t at_least(double params_wanted) const {
    std::int64_t enough = 1, too_few = 0;
    for (; params(enough) < params_wanted; enough *= 2) too_few = enough;
    while (enough - too_few > 1) {
      const auto middle = too_few + (enough - too_few) / 2;
      (params(middle) < params_wanted ? too_few : enough) = middle;
    }
    return enough;
  }
};

std::vector<std::int64_t> heads_of(const plan::Shapes& wanted, std::int64_t hidden) {
  std::vector<std::int64_t> heads;
  for (const auto count : wanted.heads)
    if (hidden % count == 0 && hidden / count % 8 == 0) heads.push_back(count);
  if (!wanted.heads.empty()) return heads;
  for (auto width = kLargestHead; width >= kSmallestHead; width -= kHeadStep)
    if (hidden % width == 0) heads.push_back(hidden / width);
  return heads;
}

std::vector<std::int64_t> layers_of(const plan::Shapes& wanted) {
  if (!wanted.layers.empty()) return wanted.layers;
  // 12 L h^2 = 12 L^3 (h/L)^2 parameters. The ends are generous, because each shape is checked
  // again.
  const auto at = [&](double ratio) { return std::cbrt(wanted.params / (12 * ratio * ratio)); };
  const auto first = std::max(1.0, std::floor(at(kWidest) / 2));
  const auto last = std::ceil(at(kNarrowest) * 2);
  std::vector<std::int64_t> layers;
  for (auto count = first; count <= last; ++count)
    layers.push_back(static_cast<std::int64_t>(count));
  return layers;
}

Error nothing(const plan::Shapes& wanted, double nearest, const std::string& place) {
  return {place,
          fmt::format("no shape has {} parameters, {:g} % more or less",
                      format_number(wanted.params), 100 * wanted.tolerance),
          nearest > 0 ? fmt::format("the nearest has {}: raise tolerance, widen layers, or allow "
                                    "other heads",
                                    format_number(nearest))
                      : "no heads divide any hidden size: allow others, or a larger "
                        "hidden_multiple"};
}

}  // namespace

Result<std::vector<RankShape>> shapes_of(const plan::Shapes& wanted, const MakeModel& model,
                                         const std::string& place) {
  std::vector<RankShape> shapes;
  double nearest = 0;
  const double low = wanted.params * (1 - wanted.tolerance);
  const double high = wanted.params * (1 + wanted.tolerance);
  for (const auto layers : layers_of(wanted)) {
    const ShapeSizes sizes{model, layers, wanted.hidden_multiple};
    const auto first = std::max<std::int64_t>(1, sizes.at_least(low * (1 - kHeadsDecide)) - 1);
    const double last = high * (1 + kHeadsDecide);
    // One multiple below and one above show how close the nearest sizes are.
    for (auto times = first; times == first || sizes.params(times - 1) <= last; ++times) {
      const auto hidden = times * wanted.hidden_multiple;
      const bool usual = hidden >= kNarrowest * layers && hidden <= kWidest * layers;
      if (wanted.layers.empty() && !usual) continue;
      for (const auto heads : heads_of(wanted, hidden)) {
        const double params = model({layers, hidden, heads}).params();
        if (std::abs(params - wanted.params) < std::abs(nearest - wanted.params)) nearest = params;
        if (params >= low && params <= high) shapes.push_back({layers, hidden, heads});
      }
    }
    if (shapes.size() > kMostShapes)
      return Error{place, fmt::format("more than {} shapes", kMostShapes),
                   "lower tolerance, or give fewer layers and heads"};
  }
  if (shapes.empty()) return nothing(wanted, nearest, place);
  return shapes;
}

namespace {

// Rounded to a multiple; a value below the multiple is rounded to an integer.
std::int64_t rounded(double value, std::int64_t multiple) {
  const auto unit = value < static_cast<double>(multiple) ? 1 : multiple;
  return std::max<std::int64_t>(unit, std::llround(value / static_cast<double>(unit)) * unit);
}

}  // namespace

plan::Model scaled(const plan::Model& model, double times) {
  constexpr std::int64_t kHeads = 8, kWidth = 128;
  const double sides = std::cbrt(times);  // layers and width grow by the same factor
  auto out = model;
  const auto grouped = model.kv_heads < model.heads ? model.kv_heads : 1;
  out.heads = rounded(static_cast<double>(model.heads) * sides,
                      std::lcm(std::gcd(kHeads, model.heads), grouped));
  if (model.kv_heads == model.heads) out.kv_heads = out.heads;
  const double wider = static_cast<double>(out.heads) / static_cast<double>(model.heads);
  const auto widened = [&](std::int64_t size) {
    return size == 0 ? 0 : rounded(static_cast<double>(size) * wider, kWidth);
  };
  out.hidden = model.hidden == model.heads * model.head_dim ? out.heads * model.head_dim
                                                            : widened(model.hidden);
  out.ffn_hidden = widened(model.ffn_hidden);
  out.expert_hidden = widened(model.expert_hidden);
  // The layers are computed last, from the parameters that are left after rounding the width.
  const double before = out.params();
  out.layers *= 2;
  const double of_layer = (out.params() - before) / static_cast<double>(model.layers);
  const double layers =
      static_cast<double>(model.layers) + (times * model.params() - before) / of_layer;
  out.layers = rounded(std::max(1.0, layers), layers < 32 ? 2 : 4);
  out.dense_layers = std::min(model.dense_layers, out.layers);
  return out;
}

std::string shape_name(const std::string& family, const RankShape& shape) {
  return fmt::format("{}-{}x{}-{}h", family, shape.layers, shape.hidden, shape.heads);
}

}  // namespace orch::search
