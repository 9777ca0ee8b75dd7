#include "core/price/measure/this_machine.h"

#include <fmt/format.h>

#include <map>
#include <vector>

#include "core/base/text.h"

namespace orch::measure {
namespace {

// The value of the first line "key : value".
std::string value_of(const std::string& text, std::string_view key) {
  for (const auto& line : split(text, '\n')) {
    const auto colon = line.find(':');
    if (colon == std::string::npos || trim(std::string_view(line).substr(0, colon)) != key)
      continue;
    return printable(trim(std::string_view(line).substr(colon + 1)));
  }
  return {};
}

// Arm's cores have only numbers in /proc, not names (implementer 0x41 is Arm itself).
std::string arm_name(const std::string& implementer, const std::string& part) {
  static const std::map<std::string, std::string> names{
      {"0xd08", "Cortex-A72"},  {"0xd0b", "Cortex-A76"},  {"0xd0c", "Neoverse-N1"},
      {"0xd40", "Neoverse-V1"}, {"0xd49", "Neoverse-N2"}, {"0xd4f", "Neoverse-V2"}};
  const auto found = names.find(part);
  if (implementer == "0x41" && found != names.end()) return found->second;
  return fmt::format("CPU {} {}", implementer, part);
}

std::string cpu_name(const fs::path& root) {
  const auto text = read_file(root / "proc/cpuinfo");
  if (!text) return "CPU";
  if (auto name = value_of(*text, "model name"); !name.empty()) return name;
  const auto part = value_of(*text, "CPU part");
  return part.empty() ? "CPU" : arm_name(value_of(*text, "CPU implementer"), part);
}

// The driver's GPUs: model and count.
std::map<std::string, int> gpus(const fs::path& root) {
  std::map<std::string, int> out;
  for (const auto& gpu : entries_of(root / "proc/driver/nvidia/gpus")) {
    const auto text = read_file(gpu / "information");
    if (const auto model = text ? value_of(*text, "Model") : ""; !model.empty()) ++out[model];
  }
  return out;
}

}  // namespace

std::string describe(std::size_t cores, const fs::path& root) {
  std::vector<std::string> parts;
  for (const auto& [model, count] : gpus(root))
    parts.push_back(fmt::format("{} x {}", model, count));
  parts.push_back(fmt::format("{} x {}", cpu_name(root), cores));
  return join(parts, ", ");
}

}  // namespace orch::measure
