#include <fmt/format.h>

#include <charconv>
#include <optional>

#include "core/base/text.h"
#include "core/plan/experiment/reader.h"

namespace orch::experiment {
namespace {

constexpr const char* kExample =
    "search = { params = \"176B\", tolerance = 0.03, layers = { from = 60, to = 110 }, "
    "heads = { 64, 96, 128 } }";
constexpr double kMostLayers = 100'000;
constexpr double kMostHeads = 1'000'000;
constexpr double kMostHidden = 10'000'000;
constexpr std::int64_t kMostSizes = 10'000;  // limit per list

// "176B", "1.3B", "760M", "2T".
std::optional<double> parse_size(std::string_view text) {
  double number = 0;
  const auto [stop, code] = std::from_chars(text.data(), text.data() + text.size(), number);
  const std::string_view unit(stop, static_cast<std::size_t>(text.data() + text.size() - stop));
  if (code != std::errc()) return std::nullopt;
  if (unit == "M") return number * 1e6;
  if (unit == "B") return number * 1e9;
  if (unit == "T") return number * 1e12;
  return unit.empty() ? std::optional(number) : std::nullopt;
}

}  // namespace

double ExperimentReader::read_size(const sol::object& value, const std::string& place) {
  std::optional<double> size;
  if (value.get_type() == sol::type::string)
    size = parse_size(value.as<std::string>());
  else if (const auto plain = to_value(value))
    size = plan::number(*plain);
  if (size && *size >= 1 && *size <= 1e15) return *size;
  error(place, fmt::format("{} is not a number of parameters", type_name(value)),
        "write 176e9, \"176B\" or \"760M\", up to \"1000T\"");
  return 0;
}

// Reads a number, a list, or { from = 60, to = 110, step = 2 }. Ranges have named fields, because {
// 60, 110 } is a list of two values everywhere in an experiment.
std::vector<std::int64_t> ExperimentReader::read_sizes(const sol::object& value,
                                                       const std::string& place, double max) {
  if (value.get_type() != sol::type::table) return {whole(value, place, 1, max)};
  const auto before = errors_.size();
  const auto keys = keys_of(value.as<sol::table>(), place, errors_);
  if (errors_.size() > before) return {};
  std::vector<std::int64_t> sizes;
  for (std::size_t i = 0; i < keys.items.size(); ++i)
    sizes.push_back(whole(keys.items[i], fmt::format("{}[{}]", place, i + 1), 1, max));
  if (keys.fields.empty()) {
    if (sizes.empty()) error(place, "an empty list leaves nothing to search", "leave it out");
    return sizes;
  }
  if (!sizes.empty()) {
    error(place, "a list and a range at once", "write { from = 60, to = 110 }");
    return {};
  }
  std::int64_t from = 0, to = 0, step = 1;
  const auto size = [&](std::int64_t& read) {
    return [this, &read, max](auto& held, auto& at) { read = whole(held, at, 1, max); };
  };
  read_named(value, place, "{ from = 60, to = 110 }",
             {{"from", size(from)}, {"to", size(to)}, {"step", size(step)}});
  if (from < 1 || to < from || step < 1 || (to - from) / step >= kMostSizes) {
    error(place, fmt::format("{} to {} is not a range", from, to),
          fmt::format("write {{ from = 60, to = 110 }}, of at most {} sizes", kMostSizes));
    return {};
  }
  for (; from <= to; from += step) sizes.push_back(from);
  return sizes;
}

void ExperimentReader::read_search(const sol::object& value) {
  plan::Shapes shapes;
  const bool given = read_named(
      value, "search", kExample,
      {{"params", [&](auto& held, auto& at) { shapes.params = read_size(held, at); }, true},
       {"tolerance", [&](auto& held, auto& at) { shapes.tolerance = positive(held, at); }},
       {"layers", [&](auto& held, auto& at) { shapes.layers = read_sizes(held, at, kMostLayers); }},
       {"hidden_multiple",
        [&](auto& held, auto& at) { shapes.hidden_multiple = whole(held, at, 1, kMostHidden); }},
       {"heads", [&](auto& held, auto& at) { shapes.heads = read_sizes(held, at, kMostHeads); }}});
  if (!given) return;
  if (shapes.tolerance >= 1)
    error("search.tolerance", fmt::format("{} is not a fraction", shapes.tolerance),
          "write 0.03 for 3 % more or less");
  out_.shapes = std::move(shapes);
}

}  // namespace orch::experiment
