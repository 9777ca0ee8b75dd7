#include "core/run/launch/slurm/slurm_facts.h"

#include <algorithm>
#include <charconv>
#include <map>

#include "core/base/text.h"
#include "core/plan/slurm.h"

namespace orch::launch {
namespace {

std::int64_t number_or(std::string_view text, std::int64_t otherwise) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end != text.data() ? value : otherwise;
}

// "ALL", "(null)" and "" mean everything.
std::vector<std::string> list_of(std::string_view text) {
  if (text.empty() || text == "ALL" || text == "(null)" || text == "N/A") return {};
  return split(text, ',');
}

// The "Key=value" pairs of a line.
std::map<std::string, std::string, std::less<>> pairs_of(std::string_view line) {
  std::map<std::string, std::string, std::less<>> pairs;
  for (const auto& word : split(line, ' ')) {
    const auto at = word.find('=');
    if (at != std::string::npos) pairs.emplace(word.substr(0, at), word.substr(at + 1));
  }
  return pairs;
}

}  // namespace

const std::string_view kNodeFields = "%R|%D|%G|%f|%T";

void parse_config(std::string_view text, ClusterFacts& into) {
  for (const auto& line : split(text, '\n')) {
    const auto at = line.find('=');
    if (at == std::string::npos) continue;
    const auto key = trim(std::string_view(line).substr(0, at));
    const auto value = trim(std::string_view(line).substr(at + 1));
    if (key == "ClusterName") into.name = value;
    if (key == "SLURM_VERSION") into.version = value;
    if (key == "MaxArraySize") into.max_array_size = number_or(value, into.max_array_size);
  }
}

std::vector<PartitionFacts> parse_partitions(std::string_view text) {
  std::vector<PartitionFacts> partitions;
  for (const auto& line : split(text, '\n')) {
    auto pairs = pairs_of(line);
    if (!pairs.contains("PartitionName")) continue;
    PartitionFacts facts;
    facts.name = pairs["PartitionName"];
    facts.is_default = pairs["Default"] == "YES";
    facts.state = pairs["State"];
    facts.max_seconds = plan::parse_slurm_time(pairs["MaxTime"]).value_or(facts.max_seconds);
    facts.nodes = number_or(pairs["TotalNodes"], 0);
    facts.max_nodes = number_or(pairs["MaxNodes"], facts.max_nodes);
    facts.accounts = list_of(pairs["AllowAccounts"]);
    facts.qos = list_of(pairs["AllowQos"]);
    partitions.push_back(std::move(facts));
  }
  return partitions;
}

std::vector<NodeGroup> parse_nodes(std::string_view text) {
  std::vector<NodeGroup> groups;
  for (const auto& line : split(text, '\n')) {
    const auto fields = split(line, '|');
    if (fields.size() != 5) continue;
    groups.push_back(
        {fields[0], number_or(fields[1], 0), fields[2], list_of(fields[3]), fields[4]});
  }
  return groups;
}

}  // namespace orch::launch
