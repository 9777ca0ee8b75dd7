#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>

#include "core/base/text.h"
#include "core/base/units.h"
#include "core/show/findings/compared.h"
#include "core/show/page/parts.h"
#include "core/show/page/text.h"

namespace orch::page {
namespace {

using record::Measurement;
using record::Origin;
using record::Record;

constexpr std::size_t kMostFull = 200;   // runs written in full for browsers without scripts
constexpr std::size_t kMostInList = 40;  // items in a list of nodes, odd steps, ...

void add(Pairs& out, std::string name, std::string value) {
  if (!value.empty()) out.emplace_back(std::move(name), std::move(value));
}

void add_count(Pairs& out, const char* name, std::int64_t count) {
  if (count != 0) add(out, name, group_digits(static_cast<double>(count)));
}

std::string ranged(const std::optional<Interval>& range, const char* unit, const char* limits,
                   double scale = 1) {
  if (!range) return "";
  const auto scaled = range->times(1 / scale);
  auto out = fmt::format("{} {}", shown(scaled.value), unit);
  if (scaled.has_limits())
    out += fmt::format(" ({} {} to {})", limits, shown(scaled.low), shown(scaled.high));
  return out;
}

constexpr const char* kMeasured = "95 % interval";
constexpr const char* kEstimated = "90 % range";

std::string number_with(const std::optional<double>& value, const char* unit, double scale = 1) {
  return value ? shown(*value / scale) + unit : std::string();
}

Pairs run_pairs(const Record& record) {
  Pairs out;
  out.reserve(record.fields.size());
  for (const auto& field : record.fields)
    add(out, field.name, record::text(field.value) + (field.assumed ? " (assumed)" : ""));
  return out;
}

std::string odd_steps_text(const Measurement& measured) {
  const auto line = [](const auto& odd) {
    return fmt::format("step {}: {} s ({:.2f} × the median)", odd.step, shown(odd.seconds),
                       odd.factor);
  };
  auto text = first_of(mapped(measured.odd_steps, line), kMostInList);
  if (measured.odd_step_count > measured.odd_steps.size())
    text += fmt::format("; {} in all", measured.odd_step_count);
  return text;
}

void add_steps(Pairs& out, const Measurement& measured) {
  if (measured.steps > 0)
    add(out, "steps",
        group_digits(static_cast<double>(measured.steps)) +
            (measured.steps_planned > 0
                 ? " of " + group_digits(static_cast<double>(measured.steps_planned))
                 : std::string()));
  add(out, "last loss", shown(measured.last_loss));
  add_count(out, "restarts", measured.restarts);
  add_count(out, "repeated steps", measured.repeated_steps);
  add(out, "goodput", record::goodput_text(measured));
  add_count(out, "skipped steps", measured.skipped_steps);
  add_count(out, "steps with NaN", measured.nan_steps);
  add(out, "odd steps", odd_steps_text(measured));
  add(out, "odd nodes", first_of(mapped(measured.odd_nodes, findings::node_text), kMostInList));
  add(out, "spikes of the loss",
      first_of(mapped(measured.spikes, findings::spike_text), kMostInList));
}

std::optional<double> stated_of(const Measurement& measured, std::string_view quantity) {
  const auto found = measured.stated.find(quantity);
  return found == measured.stated.end() ? std::nullopt : std::optional(found->second);
}

Pairs measured_pairs(const PageLine& line) {
  const auto& measured = line.record->measured;
  const auto& numbers = line.numbers;
  Pairs out;
  add(out, "step", ranged(numbers.step.measured, "s", kMeasured));
  add(out, "step from", measured.step_seconds_from);
  add(out, "window", measured.window.rule);
  if (numbers.rate.measured) add(out, "tokens per second", shown(numbers.rate.measured->value));
  add(out, "days per 100B tokens", ranged(numbers.days.measured, "days", kMeasured));
  for (const auto& found : measured.tflops)
    add(out,
        fmt::format("TFLOPs per GPU ({}, {})", found.convention,
                    found.computed ? "computed from time and size" : "stated"),
        shown(found.value));
  add(out, "peak memory", ranged(numbers.memory.measured, "GiB", kMeasured, kGiB));
  add(out, "peak memory from", measured.peak_memory_from);
  add(out, "host memory", number_with(measured.host_memory_bytes, " GiB", kGiB));
  add(out, "GPU-hours", shown(measured.gpu_hours));
  add(out, "power of a GPU", number_with(stated_of(measured, "gpu_watts"), " W"));
  add(out, "energy of its GPUs", number_with(stated_of(measured, "energy_kwh"), " kWh"));
  add(out, "use of a GPU", number_with(stated_of(measured, "gpu_use"), " %", 0.01));
  add_steps(out, measured);
  return out;
}

Pairs estimated_pairs(const PageLine& line) {
  const auto& numbers = line.numbers;
  Pairs out;
  add(out, "no estimate", line.record->not_estimated);
  if (!line.record->estimated) return out;
  const auto& guess = *line.record->estimated;
  const auto some = [](double value) { return value > 0 ? shown(value) : std::string(); };
  add(out, "fit", std::string(name(guess.fit)));
  add(out, "step", ranged(numbers.step.estimated, "s", kEstimated));
  if (const auto error = numbers.error())
    add(out, "error of the step", fmt::format("{:+.1f} %", *error));
  add(out, "tokens per second", some(guess.tokens_per_second));
  add(out, "days per 100B tokens", ranged(numbers.days.estimated, "days", kEstimated));
  add(out, "TFLOPs per GPU (megatron)", some(guess.tflops_per_gpu));
  add(out, "TFLOPs per GPU (simple)", some(guess.tflops_per_gpu_simple));
  if (guess.mfu > 0) add(out, "MFU", fmt::format("{:.1f} %", 100 * guess.mfu));
  add(out, "peak memory", ranged(numbers.memory.estimated, "GiB", kEstimated, kGiB));
  add(out, "usable memory", number_with(numbers.memory_limit, " GiB", kGiB));
  add(out, "GPU-hours to train", some(guess.gpu_hours));
  add(out, "days to train", some(guess.days_to_train));
  return out;
}

// One pair per item, such as "communication: tensor-parallel all-reduce", with its measured and its
// estimated time.
Pairs item_pairs(const Record& record) {
  Pairs out;
  const auto add_all = [&](const char* kind, const std::vector<plan::EstimateItem>& items) {
    for (const auto& item : items) {
      auto name = item.kind + ": " + item.name;
      auto value = format_seconds(item.amount) + " " + kind;
      const auto held = std::find_if(out.begin(), out.end(),
                                     [&](const auto& pair) { return pair.first == name; });
      if (held == out.end())
        out.emplace_back(std::move(name), std::move(value));
      else
        held->second += ", " + value;
    }
  };
  add_all("measured", record.measured.time_items);
  if (record.estimated) add_all("estimated", record.estimated->time);
  return out;
}

std::string utc(double seconds) {
  if (!(seconds > 0 && seconds < 1e11)) return "";
  return fmt::format("{:%Y-%m-%d %H:%M:%S} UTC", fmt::gmtime(static_cast<std::time_t>(seconds)));
}

Pairs origin_pairs(const Record& record) {
  const auto& origin = record.origin;
  Pairs out;
  if (!run_name(record).hash.empty()) add(out, "id", record.id);
  add(out, "kind", origin.kind);
  add(out, "source", record.source);
  add(out, "table", record.table);
  add(out, "file", origin.file);
  if (origin.first_line > 0)
    add(out, "lines", fmt::format("{} to {}", origin.first_line, origin.last_line));
  add(out, "date", origin.date);
  add(out, "start", utc(origin.start));
  add(out, "end", utc(origin.end));
  add(out, "experiment", origin.experiment);
  add(out, "experiment file", origin.experiment_file);
  add(out, "cluster file", origin.cluster_file);
  add(out, "commit", origin.commit);
  add(out, "job", origin.job);
  add(out, "nodes", first_of(origin.nodes, kMostInList));
  for (const auto& [name, version] : origin.versions) add(out, name, version);
  return out;
}

// The arguments that a program printed and orch has no name for.
Pairs argument_pairs(const Record& record) {
  Pairs out;
  for (const auto& [name, value] : record.arguments) add(out, name, value);
  return out;
}

Pairs outcome_pairs(const Record& record) {
  Pairs out;
  add(out, "state", std::string(record::name(record.state)));
  if (record.failure != record::Failure::none)
    add(out, "failure", std::string(record::name(record.failure)));
  add(out, "reason", record.reason);
  add(out, "notes", record.notes);
  return out;
}

Pairs doubt_pairs(const Record& record) {
  Pairs out;
  for (const auto& doubt : record.doubts)
    add(out, doubt.field.empty() ? doubt.kind : fmt::format("{} ({})", doubt.field, doubt.kind),
        doubt.reason);
  return out;
}

}  // namespace

Chapters chapters_of(const PageLine& line) {
  const auto& record = *line.record;
  Chapters all{{"Doubts", doubt_pairs(record)},
               {"Outcome", outcome_pairs(record)},
               {"What was run", run_pairs(record)},
               {"Measured", measured_pairs(line)},
               {"Estimated", estimated_pairs(line)},
               {"Time of a step", item_pairs(record)},
               {"Other arguments", argument_pairs(record)},
               {"Where it is from", origin_pairs(record)}};
  std::erase_if(all, [](const Chapter& chapter) { return chapter.pairs.empty(); });
  return all;
}

std::string in_full(const std::vector<PageLine>& lines, const std::vector<Chapters>& chapters) {
  std::string out = "<noscript><h3>Every run in full</h3>\n";
  const auto n = std::min(lines.size(), kMostFull);
  for (std::size_t i = 0; i < n; ++i) {
    out += fmt::format("<details><summary>{}</summary>", escape(lines[i].name));
    for (const auto& chapter : chapters[i])
      out += fmt::format("<h4>{}</h4>{}", chapter.heading, list_of(chapter.pairs));
    out += "</details>\n";
  }
  if (n < lines.size())
    out += fmt::format("<p>The first {} of {}: the others open with scripts allowed.</p>\n", n,
                       plural(lines.size(), "run"));
  return out + "</noscript>\n";
}

}  // namespace orch::page
