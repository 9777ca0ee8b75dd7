#include "core/price/measure/measurement.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "core/base/json_fields.h"
#include "core/base/text.h"

namespace orch::measure {
namespace {

using Json = nlohmann::json;

double amount(const Json& json, const char* key) {
  const auto value = json.at(key).get<double>();
  if (!std::isfinite(value) || value < 0)
    throw std::invalid_argument(fmt::format("{} is {}", key, value));
  return value;
}

double positive(const Json& json, const char* key) {
  const auto value = amount(json, key);
  if (value == 0) throw std::invalid_argument(fmt::format("{} is 0", key));
  return value;
}

std::int64_t count(const Json& json, const char* key) {
  const auto value = json.at(key).get<std::int64_t>();
  if (value < 1) throw std::invalid_argument(fmt::format("{} is {}", key, value));
  return value;
}

std::vector<Product> products(const Json& list) {
  std::vector<Product> out;
  for (const auto& row : list)
    out.push_back({row.at("dtype").get<std::string>(), positive(row, "m"), positive(row, "n"),
                   positive(row, "k"), positive(row, "batch"), positive(row, "seconds")});
  return out;
}

MeasuredLayer layer(const Json& json) {
  return {count(json, "hidden"), count(json, "heads"), count(json, "seq"), count(json, "vocab"),
          count(json, "micro_batch")};
}

std::vector<Pass> passes(const Json& list) {
  std::vector<Pass> out;
  for (const auto& row : list)
    out.push_back({row.at("op").get<std::string>(), positive(row, "elements"),
                   positive(row, "bytes"), positive(row, "seconds")});
  return out;
}

std::vector<Transfer> transfers(const Json& list, const char* direction = nullptr) {
  std::vector<Transfer> out;
  for (const auto& row : list)
    if (!direction || row.at("direction") == direction)
      out.push_back({positive(row, "bytes"), positive(row, "seconds")});
  return out;
}

Measurement read(const Json& json) {
  if (json.at("version") != 1) throw std::invalid_argument("version is not 1");
  Measurement out;
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
  out.products = products(json.at("products"));
  out.attention = products(json.at("attention"));
  out.layer = layer(json.at("layer"));
  out.passes = passes(json.at("passes"));
  out.all_reduce = transfers(json.at("all_reduce"));
  out.to_device = transfers(json.at("copies"), "to_device");
  out.to_host = transfers(json.at("copies"), "to_host");
  return out;
}

}  // namespace

const Pass* Measurement::pass(const std::string& op) const {
  const auto found =
      std::find_if(passes.begin(), passes.end(), [&](const Pass& pass) { return pass.op == op; });
  return found == passes.end() ? nullptr : &*found;
}

Result<Measurement> parse_measurement(const std::string& text, const std::string& place) {
  try {
    const auto json = parse_json(text);
    if (json.is_discarded()) throw std::runtime_error("is no JSON");
    return read(json);
  } catch (const std::exception& error) {  // of nlohmann, or of ours
    return Error{place, printable(error.what()), "orch and orch-measure must be of one version"};
  }
}

}  // namespace orch::measure
