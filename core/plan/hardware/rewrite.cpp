#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "core/base/text.h"
#include "core/plan/hardware/constants.h"
#include "core/plan/hardware/write.h"
#include "core/plan/tunable.h"

namespace orch::hardware {
namespace {

using Lines = std::vector<std::string>;

std::size_t indent_of(const std::string& line) {
  return std::min(line.find_first_not_of(' '), line.size());
}

bool is_blank(const std::string& line) {
  const auto text = trim(line);
  return text.empty() || text.front() == '#';
}

std::string unquoted(std::string_view text) {
  text = trim(text.substr(0, text.find(" #")));
  if (text.size() > 1 && (text.front() == '"' || text.front() == '\'') &&
      text.back() == text.front())
    text = text.substr(1, text.size() - 2);
  return std::string(text);
}

// Lines [first, last) of a block, and the indentation of its fields.
struct YamlBlock {
  std::size_t first = 0, last = 0, indent = 0;
};

// The end of what belongs to a line: before the next line that is not indented more. Trailing blank
// lines and comments belong to what follows, unless they are indented more: in the text of a setup,
// '#' does not begin a YAML comment.
std::size_t end_of(const Lines& lines, std::size_t first, std::size_t indent) {
  std::size_t end = first + 1;
  for (std::size_t i = first + 1; i < lines.size(); ++i) {
    if (indent_of(lines[i]) > indent && !trim(lines[i]).empty())
      end = i + 1;
    else if (!is_blank(lines[i]))
      break;
  }
  return end;
}

std::optional<YamlBlock> find_partition(const Lines& lines, std::string_view name) {
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const auto dash = indent_of(lines[i]);
    const auto text = trim(lines[i]);
    if (!text.starts_with("- name:") || unquoted(text.substr(7)) != name) continue;
    return YamlBlock{i, end_of(lines, i, dash), dash + 2};
  }
  return std::nullopt;
}

std::optional<YamlBlock> find_stack(const Lines& lines, const std::string& name) {
  for (std::size_t i = 0; i < lines.size(); ++i)
    if (lines[i].starts_with(name + ":")) return YamlBlock{i, end_of(lines, i, 0), 2};
  return std::nullopt;
}

// Replaces the lines of a field of the block, or adds them at its end.
void replace(Lines& lines, YamlBlock& block, std::string_view key, const Lines& fresh) {
  auto at = block.last;
  for (auto i = block.first + 1; i < block.last; ++i) {
    if (indent_of(lines[i]) != block.indent || !lines[i].substr(block.indent).starts_with(key))
      continue;
    const auto end = end_of(lines, i, block.indent);
    lines.erase(lines.begin() + static_cast<std::ptrdiff_t>(i),
                lines.begin() + static_cast<std::ptrdiff_t>(end));
    block.last -= end - i;
    at = i;
    break;
  }
  lines.insert(lines.begin() + static_cast<std::ptrdiff_t>(at), fresh.begin(), fresh.end());
  block.last += fresh.size();
}

// The number with its unit, precise to a hundredth of a percent.
std::string value_text(std::string_view name, double value) {
  if (name == "context_memory") return fmt::format("{:.5g} MiB", value / (1024.0 * 1024.0));
  return plan::is_time(name) ? fmt::format("{:.5g} us", value * 1e6) : fmt::format("{:.5g}", value);
}

std::string constant_text(std::string_view name, const plan::Constant& constant) {
  return fmt::format("{{ value: {}, origin: {} }}", value_text(name, constant.value),
                     quoted(constant.origin));
}

std::string settings_text(const plan::SeenRanges::Settings& settings) {
  std::vector<std::string> out;
  for (const auto& [name, values] : settings)
    out.push_back(fmt::format("{}: [{}]", name, join(values, ", ")));
  return fmt::format("{{ {} }}", join(out, ", "));
}

// "a100-80g: { gpus: [8, 64], params: [7e+09, 1.3e+10] }".
std::string device_text(const std::pair<const std::string, plan::SeenRanges::Sizes>& device) {
  const auto& [gpu, sizes] = device;
  return fmt::format("{}: {{ gpus: [{:.4g}, {:.4g}], params: [{:.4g}, {:.4g}] }}", gpu,
                     sizes.gpus.low, sizes.gpus.high, sizes.params.low, sizes.params.high);
}

std::string seen_text(const plan::SeenRanges& seen) {
  auto out = fmt::format("seen: {{ rows: {}", seen.rows);
  for (const auto& [name, at] : plan::kSeenSpans)
    if (const auto& span = seen.*at; span.high > 0)
      out += fmt::format(", {}: [{:.4g}, {:.4g}]", name, span.low, span.high);
  if (!seen.stacks.empty()) out += fmt::format(", stacks: [{}]", join(seen.stacks, ", "));
  if (!seen.devices.empty())
    out += fmt::format(", devices: {{ {} }}", join(mapped(seen.devices, device_text), ", "));
  if (!seen.machines.empty()) out += fmt::format(", machines: [{}]", join(seen.machines, ", "));
  if (!seen.settings.empty()) out += ", settings: " + settings_text(seen.settings);
  std::vector<std::string> of_stack;
  for (const auto& [stack, settings] : seen.of_stack)
    of_stack.push_back(fmt::format("{}: {}", stack, settings_text(settings)));
  if (!of_stack.empty()) out += fmt::format(", of_stack: {{ {} }}", join(of_stack, ", "));
  return out + " }";
}

// The constants in the order of the tunables; those of a stack are factors without units.
Lines constant_lines(const std::map<std::string, plan::Constant>& constants,
                     const std::string& margin, bool factors) {
  Lines out;
  for (const auto& tunable : plan::all_tunables())
    if (const auto found = constants.find(std::string(tunable.name)); found != constants.end())
      out.push_back(fmt::format("{}  {}: {}", margin, tunable.name,
                                constant_text(factors ? "" : tunable.name, found->second)));
  return out;
}

Lines link_lines(const char* name, const plan::Link& link, const YamlBlock& block) {
  const std::string margin(block.indent, ' ');
  const auto line = [&](const char* field, const std::string& value,
                        const plan::Constant& constant) {
    return fmt::format("{}  {}: {{ value: {}, origin: {} }}", margin, field, value,
                       quoted(constant.origin));
  };
  return {margin + name + ":",
          line("bandwidth", fmt::format("{:.6g} GB/s", link.bandwidth.value / 1e9), link.bandwidth),
          line("latency", value_text("network.latency", link.latency.value), link.latency),
          line("efficiency", value_text("", link.efficiency.value), link.efficiency)};
}

Lines calibration_lines(const plan::Calibration& calibration, const std::string& margin) {
  Lines out{margin + "fitted:"};
  for (auto& line : constant_lines(calibration.constants, margin, false)) out.push_back(line);
  if (calibration.seen.rows > 0) out.push_back(margin + "  " + seen_text(calibration.seen));
  if (!calibration.eras.empty()) out.push_back(margin + "  eras:");
  for (const auto& era : calibration.eras)
    out.push_back(fmt::format("{}    - {{ until: \"{}\", time: {} }}", margin, era.until,
                              constant_text("", era.time)));
  return out;
}

Lines lines_of(const std::string& text) {
  Lines lines = split(text, '\n');
  while (!lines.empty() && lines.back().empty()) lines.pop_back();
  return lines;
}

}  // namespace

static Error no_partition(const std::string& file, std::string_view partition) {
  return {printable(file), fmt::format("no line '- name: {}'", printable(partition)),
          "write the partitions as a list with one '- name: …' each"};
}

Result<std::string> with_calibration(const std::string& text, std::string_view partition,
                                     const plan::Calibration& calibration,
                                     const std::string& file) {
  auto lines = lines_of(text);
  auto block = find_partition(lines, partition);
  if (!block) return no_partition(file, partition);
  const std::string margin(block->indent, ' ');
  replace(lines, *block, "fitted:", calibration_lines(calibration, margin));
  return join(lines, "\n") + "\n";
}

Result<std::string> with_links(const std::string& text, const plan::Partition& partition,
                               const std::string& file) {
  auto lines = lines_of(text);
  auto block = find_partition(lines, partition.name);
  if (!block) return no_partition(file, partition.name);
  replace(lines, *block, "intra_node:", link_lines("intra_node", partition.intra_node, *block));
  replace(lines, *block, "network:", link_lines("network", partition.network, *block));
  return join(lines, "\n") + "\n";
}

namespace {

// The line of a key at this indentation among lines [first, last).
std::optional<std::size_t> find_key(const Lines& lines, std::string_view key, std::size_t indent,
                                    std::size_t first, std::size_t last) {
  for (auto i = first; i < last; ++i)
    if (indent_of(lines[i]) == indent && lines[i].substr(indent).starts_with(key)) return i;
  return std::nullopt;
}

// The block `operation` at this indentation; where there is none, an empty one is added: before the
// partitions of a cluster, or at the end of a partition.
Result<YamlBlock> operation_block(Lines& lines, std::optional<YamlBlock> partition,
                                  const std::string& file) {
  const std::size_t indent = partition ? partition->indent : 0;
  const std::size_t first = partition ? partition->first + 1 : 0;
  const std::size_t last = partition ? partition->last : lines.size();
  const std::string head = "operation:";
  if (const auto at = find_key(lines, head, indent, first, last)) {
    const auto rest = trim(std::string_view(lines[*at]).substr(indent + head.size()));
    if (!rest.empty() && rest.front() != '#')
      return Error{fmt::format("{}:{}", printable(file), *at + 1),
                   "`operation` is written on one line",
                   "write it as a block, each of its constants on a line below it"};
    const auto end = end_of(lines, *at, indent);
    auto inside = indent + 2;
    for (auto i = *at + 1; i < end; ++i)
      if (!is_blank(lines[i])) {
        inside = indent_of(lines[i]);
        break;
      }
    return YamlBlock{*at, end, inside};
  }
  auto at = last;
  if (!partition) at = find_key(lines, "partitions:", 0, 0, last).value_or(last);
  while (!partition && at > 0 && is_blank(lines[at - 1])) --at;  // with the comment on them
  lines.insert(lines.begin() + static_cast<std::ptrdiff_t>(at), std::string(indent, ' ') + head);
  return YamlBlock{at, at + 1, indent + 2};
}

}  // namespace

Result<std::string> with_operation(const std::string& text, std::string_view partition,
                                   const std::vector<NamedConstant>& constants,
                                   const std::vector<std::string>& without,
                                   const std::string& file) {
  auto lines = lines_of(text);
  std::optional<YamlBlock> within;
  if (!partition.empty()) {
    within = find_partition(lines, partition);
    if (!within) return no_partition(file, partition);
  }
  auto block = operation_block(lines, within, file);
  if (!block) return block.error();
  for (const auto& key : without) replace(lines, *block, key + ":", {});
  for (const auto& [name, value, constant] : constants)
    replace(lines, *block, name + ":",
            {fmt::format("{:{}}{}: {{ value: {}, origin: {} }}", "", block->indent, name, value,
                         quoted(constant.origin))});
  return join(lines, "\n") + "\n";
}

Result<std::string> with_factors(const std::string& text, const plan::Stack& stack,
                                 const std::string& file) {
  auto lines = lines_of(text);
  auto block = find_stack(lines, stack.name);
  if (!block)
    return Error{printable(file), fmt::format("no line '{}:'", stack.name),
                 "write each stack as a block below its name"};
  Lines fresh{"  factors:"};
  for (auto& line : constant_lines(stack.constants, "  ", true)) fresh.push_back(line);
  replace(lines, *block, "factors:", fresh);
  replace(lines, *block, "seen:", {"  " + seen_text(stack.seen)});
  return join(lines, "\n") + "\n";
}

}  // namespace orch::hardware
