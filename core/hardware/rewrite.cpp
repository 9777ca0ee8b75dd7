#include "core/hardware/rewrite.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "core/base/text.h"
#include "core/base/units.h"
#include "core/hardware/constants.h"
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

// Lines [first, last) of a block, whose fields are indented by so much.
struct Block {
  std::size_t first = 0, last = 0, indent = 0;
};

// The end of what belongs to a line: before the next line that is indented no more than it. Blank
// lines and comments at its end belong to what follows, unless they are indented more: in the text
// of a setup, '#' begins no comment of YAML's.
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

std::optional<Block> find_partition(const Lines& lines, std::string_view name) {
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const auto dash = indent_of(lines[i]);
    const auto text = trim(lines[i]);
    if (!text.starts_with("- name:") || unquoted(text.substr(7)) != name) continue;
    return Block{i, end_of(lines, i, dash), dash + 2};
  }
  return std::nullopt;
}

// A number that reads back as itself to a hundredth of a percent, with its unit.
std::string value_text(std::string_view name, double value) {
  if (name == "context_memory") return fmt::format("{:.5g} MiB", value / (1024.0 * 1024.0));
  const bool seconds = name.ends_with("_overhead");
  return seconds ? fmt::format("{:.5g} us", value * 1e6) : fmt::format("{:.5g}", value);
}

std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : printable(text)) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + "\"";
}

std::string constant_text(std::string_view name, const plan::Constant& constant) {
  return fmt::format("{{ value: {}, origin: {} }}", value_text(name, constant.value),
                     quoted(constant.origin));
}

Lines calibration_lines(const plan::Calibration& calibration, const std::string& margin) {
  Lines out{fmt::format("{}  - backends: [{}]", margin, join(calibration.backends, ", "))};
  for (const auto list : {plan::time_tunables(), plan::memory_tunables(), plan::spread_tunables()})
    for (const auto& tunable : list) {
      const auto found = calibration.constants.find(std::string(tunable.name));
      if (found != calibration.constants.end())
        out.push_back(fmt::format("{}    {}: {}", margin, tunable.name,
                                  constant_text(tunable.name, found->second)));
    }
  if (!calibration.eras.empty()) out.push_back(margin + "    eras:");
  for (const auto& era : calibration.eras)
    out.push_back(fmt::format("{}      - {{ until: \"{}\", time: {} }}", margin, era.until,
                              constant_text("", era.time)));
  return out;
}

}  // namespace

Result<std::string> with_calibrations(const std::string& text, std::string_view partition,
                                      const std::vector<plan::Calibration>& calibrations,
                                      const std::string& file) {
  Lines lines = split(text, '\n');
  while (!lines.empty() && lines.back().empty()) lines.pop_back();
  auto block = find_partition(lines, partition);
  if (!block)
    return Error{printable(file), fmt::format("no line '- name: {}'", printable(partition)),
                 "write the partitions as a list with one '- name: …' each"};
  for (auto i = block->first + 1; i < block->last; ++i) {
    if (indent_of(lines[i]) != block->indent ||
        !lines[i].substr(block->indent).starts_with("fitted:"))
      continue;
    const auto end = end_of(lines, i, block->indent);
    lines.erase(lines.begin() + static_cast<std::ptrdiff_t>(i),
                lines.begin() + static_cast<std::ptrdiff_t>(end));
    block->last -= end - i;
    break;
  }
  const std::string margin(block->indent, ' ');
  Lines fresh;
  if (!calibrations.empty()) fresh.push_back(margin + "fitted:");
  for (const auto& calibration : calibrations)
    for (auto& line : calibration_lines(calibration, margin)) fresh.push_back(std::move(line));
  lines.insert(lines.begin() + static_cast<std::ptrdiff_t>(block->last), fresh.begin(),
               fresh.end());
  return join(lines, "\n") + "\n";
}

}  // namespace orch::hardware
