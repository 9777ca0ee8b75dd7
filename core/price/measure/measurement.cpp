#include "core/price/measure/measurement.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "core/base/json_fields.h"
#include "core/base/text.h"

namespace orch::measure {

using SortedJson = nlohmann::json;

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(MeasuredProduct, dtype, m, n, k, batch, seconds)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(MeasuredPass, op, elements, bytes, seconds)
static void from_json(const SortedJson& json, MeasuredPoint& point) {
  json.at("bytes").get_to(point.amount);
  json.at("seconds").get_to(point.seconds);
}

namespace {

double amount(const SortedJson& json, const char* key) {
  const auto value = json.at(key).get<double>();
  if (!std::isfinite(value) || value < 0)
    throw std::invalid_argument(fmt::format("{} is {}", key, value));
  return value;
}

double positive(const SortedJson& json, const char* key) {
  const auto value = amount(json, key);
  if (value == 0) throw std::invalid_argument(fmt::format("{} is 0", key));
  return value;
}

std::int64_t count(const SortedJson& json, const char* key) {
  const auto value = json.at(key).get<std::int64_t>();
  if (value < 1) throw std::invalid_argument(fmt::format("{} is {}", key, value));
  return value;
}

// Reads the rows of a list, whose numbers must all be above 0.
template <class Row>
std::vector<Row> rows_of(const SortedJson& list) {
  for (const auto& row : list)
    for (const auto& [key, value] : row.items())
      if (value.is_number()) positive(row, key.c_str());
  return list.get<std::vector<Row>>();
}

MeasuredLayer layer(const SortedJson& json) {
  return {count(json, "hidden"), count(json, "heads"), count(json, "seq"), count(json, "vocab"),
          count(json, "micro_batch")};
}

DeviceMeasurement read(const SortedJson& json) {
  if (json.at("version") != 1) throw std::invalid_argument("version is not 1");
  DeviceMeasurement out;
  out.device = json.at("device").get<std::string>();
  if (out.device != "cpu" && out.device != "cuda")
    throw std::invalid_argument("device is neither cpu nor cuda");
  out.name = printable(json.at("name").get<std::string>());
  out.torch = printable(json.at("torch").get<std::string>());
  out.ranks = count(json, "ranks");
  out.threads = count(json, "threads");
  out.best_threads = count(json, "best_threads");
  const auto& memory = json.at("memory");
  out.memory = positive(memory, "in_all");
  out.context = amount(memory, "context");
  out.communicator = amount(memory, "communicator");
  out.launch_seconds = positive(json, "launch_seconds");
  out.products = rows_of<MeasuredProduct>(json.at("products"));
  out.attention = rows_of<MeasuredProduct>(json.at("attention"));
  out.layer = layer(json.at("layer"));
  out.passes = rows_of<MeasuredPass>(json.at("passes"));
  out.all_reduce = rows_of<MeasuredPoint>(json.at("all_reduce"));
  out.copies = rows_of<MeasuredPoint>(json.at("copies"));
  return out;
}

}  // namespace

const MeasuredPass* DeviceMeasurement::pass(const std::string& op) const {
  const auto found = std::find_if(passes.begin(), passes.end(),
                                  [&](const MeasuredPass& pass) { return pass.op == op; });
  return found == passes.end() ? nullptr : &*found;
}

Result<DeviceMeasurement> parse_measurement(const std::string& text, const std::string& place) {
  try {
    const auto json = parse_json(text);
    if (json.is_discarded()) throw std::runtime_error("is not JSON");
    return read(json);
  } catch (const std::exception& error) {  // nlohmann's or our own
    return Error{place, printable(error.what()), "orch and orch-measure must be of one version"};
  }
}

}  // namespace orch::measure
