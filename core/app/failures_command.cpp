#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "core/app/cluster_file.h"
#include "core/app/failures.h"
#include "core/app/past_failures.h"
#include "core/base/clock.h"
#include "core/base/date.h"
#include "core/base/number.h"
#include "core/base/text.h"
#include "core/base/units.h"
#include "core/plan/hardware/hardware.h"
#include "core/plan/hardware/write.h"
#include "core/record/statistics/interval.h"
#include "core/record/statistics/rate.h"
#include "core/run/launch/process_shell.h"
#include "core/run/launch/slurm/slurm_client.h"

namespace orch::app {
namespace {

using show::Cell, show::Value;
using statistics::GammaRate;

constexpr std::string_view kPriorMark = ", over a prior of ";
constexpr std::string_view kWorthMark = " worth ";
constexpr double kUsualGpus = 384;    // for "one in … days on 384 GPUs"
constexpr std::size_t kFewWaits = 5;  // fewer say nothing about a queue
constexpr double kLongestWait = 30 * kDay;
constexpr double kHistory = 365 * kDay;  // how far back sacct is asked

// As precise as a file has it, so that reading it again gives the same.
double rounded(double value) { return std::stod(fmt::format("{:.5g}", value)); }

// The cluster, and the partition if there is one behind a slash.
struct LearnedPlace {
  std::shared_ptr<const plan::Cluster> cluster;
  std::string partition;  // empty: all

  const plan::Partition& first() const {
    const auto* own = cluster->find(partition);
    return own ? *own : cluster->partitions.front();
  }
  std::string name() const {
    return partition.empty() ? cluster->name : cluster->name + "/" + partition;
  }
  std::int64_t gpus() const {
    std::int64_t sum = 0;
    for (const auto& each : cluster->partitions)
      if (partition.empty() || each.name == partition) sum += each.nodes * each.gpus_per_node;
    return sum;
  }
};

Result<LearnedPlace> find_place(App& app, const CalibrateArguments& arguments) {
  if (arguments.cluster.empty())
    return Error{"--failures", "no cluster is named", "add --cluster NAME or NAME/PARTITION"};
  const auto slash = arguments.cluster.find('/');
  LearnedPlace out;
  const auto name = arguments.cluster.substr(0, slash);
  if (slash != std::string::npos) out.partition = arguments.cluster.substr(slash + 1);
  if (!arguments.files.empty()) app.look_beside(arguments.files.front());
  auto found = app.clusters().find(name);
  if (!found) {
    app.look_in(".");
    found = app.clusters().find(name);
  }
  if (!found) return found.error();
  out.cluster = *found;
  const auto& partitions = out.cluster->partitions;
  if (!out.partition.empty() && !out.cluster->find(out.partition))
    return Error{"--cluster " + printable(arguments.cluster),
                 fmt::format("{} has no partition '{}'", name, printable(out.partition)),
                 suggestion(out.partition, all_names(partitions))};
  for (const auto& each : partitions)
    if (out.partition.empty() &&
        each.failures_per_gpu_hour() != partitions.front().failures_per_gpu_hour())
      return Error{"--cluster " + name,
                   fmt::format("{} and {} have rates of failures of their own",
                               partitions.front().name, each.name),
                   fmt::format("name one: --cluster {}/{}", name, each.name)};
  return out;
}

// The history of the user's own jobs here.
Result<launch::JobHistory> ask_slurm() {
  launch::ProcessShell shell;
  if (launch::probe_slurm(shell) != launch::SlurmAnswer::reachable)
    return Error{"orch calibrate --failures", "no --from, and SLURM does not answer here",
                 "give run folders, or a file that was made with: " + launch::history_command()};
  const auto text = launch::SlurmClient(shell).history_since(SystemClock().now() - kHistory);
  if (!text) return text.error();
  return launch::parse_job_history(*text, "sacct");
}

Result<PastFailures> read_past(const CalibrateArguments& arguments, const LearnedPlace& place) {
  launch::JobHistory history;
  std::vector<PastAttempt> attempts;
  std::size_t of_others = 0;
  if (arguments.files.empty()) {
    auto asked = ask_slurm();
    if (!asked) return asked.error();
    history = std::move(*asked);
  }
  Errors errors;
  for (const auto& file : arguments.files) {
    std::error_code ignored;
    if (fs::is_directory(file, ignored)) {
      auto some = read_past_attempts(file, place.cluster->name, place.partition, of_others);
      if (errors.add(some)) std::ranges::move(*some, std::back_inserter(attempts));
      continue;
    }
    constexpr std::size_t kMostBytes = std::size_t{1} << 30;  // ten million jobs
    const auto text = read_file(file, kMostBytes);
    if (!errors.add(text)) continue;
    auto some = launch::parse_job_history(*text, file);
    if (errors.add(some)) history.add(std::move(*some));
  }
  if (!errors.empty()) return errors;
  auto out = count_failures(history, attempts, *place.cluster, place.partition);
  if (of_others > 0)
    out.uncounted.push_back(
        {"runs of other clusters", of_others, "they are not on " + place.name()});
  return out;
}

struct LearnedFailures {
  LearnedPlace place;
  PastFailures past;
  FailurePrior prior;
  GammaRate rate;
  std::optional<double> queue_wait;
  std::string observed;  // "7 failures in 812,000 GPU-hours of sacct, 2026-01-03 to 2026-06-30"

  double low() const { return rate.quantile(0.05); }
  double high() const { return rate.quantile(0.95); }
};

std::string dates_text(const PastFailures& past) {
  return format_day(past.from()) + " to " + format_day(past.to());
}

Result<LearnedFailures> learn(LearnedPlace place, PastFailures past) {
  if (!(past.gpu_hours() > 0)) {
    std::vector<std::string> parts;
    for (const auto& each : past.uncounted)
      parts.push_back(fmt::format("{} ({})", each.what, each.count));
    return Error{"orch calibrate --failures",
                 "no job held GPUs" + (parts.empty() ? "" : "; not counted: " + and_list(parts)),
                 "give more of them with --from, or another --cluster"};
  }
  LearnedFailures out{std::move(place), std::move(past), {}, {}, {}, {}};
  out.prior = failure_prior(out.place.first());
  if (!(out.prior.rate > 0))
    return Error{printable(out.place.cluster->file),
                 "its rate of failures is 0, which nothing can change",
                 "remove `failures` from its `operation`, or give the number that was assumed"};
  const auto failed = out.past.failed();
  out.rate = GammaRate{out.prior.count, out.prior.count / out.prior.rate}.after(
      static_cast<double>(failed), out.past.gpu_hours());
  if (out.past.waits.size() >= kFewWaits)
    out.queue_wait = std::min(kLongestWait, std::round(statistics::median(out.past.waits)));
  out.observed = fmt::format(
      "{} in {} GPU-hours of {}, {}", plural(failed, "failure"), group_digits(out.past.gpu_hours()),
      and_list(mapped(out.past.sources, &FailureSource::kind)), dates_text(out.past));
  return out;
}

std::vector<hardware::NamedConstant> constants_of(const LearnedFailures& learned) {
  const auto constant = [](const char* name, double value, const char* unit, std::string origin) {
    return hardware::NamedConstant{
        name, fmt::format("{:.5g}{}", value, unit), {rounded(value), std::move(origin)}};
  };
  std::vector<hardware::NamedConstant> out;
  out.push_back(constant("failures", learned.rate.mean(), "",
                         learned_origin(learned.observed, learned.prior)));
  out.push_back(constant("failure_count", learned.rate.count, "",
                         fmt::format("measured: the prior's {:.5g} and {} seen",
                                     learned.prior.count, learned.past.failed())));
  if (learned.queue_wait)
    out.push_back(constant(
        "queue_wait", *learned.queue_wait, " s",
        fmt::format("measured: median of {} jobs on at least {} GPUs in {}, {}",
                    group_digits(static_cast<double>(learned.past.waits.size())),
                    learned.past.wait_gpus, learned.past.waits_of, dates_text(learned.past))));
  return out;
}

// "6.6 days", "14.2 hours".
std::string between_text(double hours) { return format_seconds(hours * 3600); }

std::string answer_text(const LearnedFailures& learned) {
  const double all = static_cast<double>(learned.place.gpus());
  const double gpus = std::min(kUsualGpus, all);
  const auto hours = [](double rate) { return group_digits(1 / rate); };
  const auto& rate = learned.rate;
  return fmt::format(
      "{}: one failure in {} GPU-hours (90 % range: {} to {}); on {} GPUs one in {} ({} to {}).\n"
      "Seen: {}; known before: one in {}, worth {}.",
      learned.place.name(), hours(rate.mean()), hours(learned.high()), hours(learned.low()),
      group_digits(gpus), between_text(1 / rate.mean() / gpus),
      between_text(1 / learned.high() / gpus), between_text(1 / learned.low() / gpus),
      learned.observed, hours(learned.prior.rate), plural(learned.prior.count, "failure"));
}

show::Table constants_table(const LearnedFailures& learned) {
  struct Row {
    hardware::NamedConstant now;
    double was = 0;
    std::optional<double> low, high;
  };
  const auto& before = learned.place.first();
  std::vector<Row> rows;
  for (auto& constant : constants_of(learned)) rows.emplace_back().now = std::move(constant);
  rows[0].was = before.failures_per_gpu_hour();
  rows[0].low = learned.low();
  rows[0].high = learned.high();
  rows[1].was = before.operation.failure_count.value;
  if (rows.size() > 2) rows[2].was = before.operation.queue_wait.value;
  const auto text = [](const Row& row, double value) {
    return row.now.name == "queue_wait" ? format_seconds(value) : fmt::format("{:.4g}", value);
  };
  show::Columns<Row> columns(std::move(rows));
  columns.add("name", "constant", 0, [](const Row& row) { return row.now.name; });
  columns.add("before", "before", 0,
              [text](const Row& row) { return Cell(Value(row.was), text(row, row.was)); });
  columns.add("after", "learned", 0, [text](const Row& row) {
    return Cell(Value(row.now.constant.value), text(row, row.now.constant.value));
  });
  columns.add("", "90 % range", 0, [](const Row& row) {
    return row.low ? fmt::format("{:.3g}–{:.3g}", *row.low, *row.high) : std::string();
  });
  columns.add("low", [](const Row& row) { return Cell(row.low); });
  columns.add("high", [](const Row& row) { return Cell(row.high); });
  columns.add("origin", [](const Row& row) { return row.now.constant.origin; });
  return columns.table("constants");
}

// The time between failures, for jobs of some sizes.
show::Table between_table(const LearnedFailures& learned) {
  const auto node = static_cast<double>(learned.place.first().gpus_per_node);
  const auto all = static_cast<double>(learned.place.gpus());
  std::vector<double> sizes{node};
  for (const double gpus : {kUsualGpus, all})
    if (gpus > sizes.back() && gpus <= all) sizes.push_back(gpus);
  const GammaRate rate = learned.rate;
  show::Columns<double> columns(std::move(sizes));
  const auto add = [&](const char* name, const char* title, double per_hour) {
    columns.add(name, title, 0, [per_hour](double gpus) {
      const double hours = 1 / per_hour / gpus;
      return Cell(Value(hours), between_text(hours));
    });
  };
  columns.add("gpus", "GPUs", 0, [](double gpus) {
    return Cell(Value(static_cast<std::int64_t>(gpus)), group_digits(gpus));
  });
  add("hours_between_failures", "one failure in", rate.mean());
  add("low", "from", learned.high());
  add("high", "to", learned.low());
  return columns.table("between_failures", "Time between failures");
}

show::Table sources_table(const LearnedFailures& learned) {
  show::Columns<FailureSource> columns(learned.past.sources);
  columns.add("source", "source", 0, [](const FailureSource& s) { return s.kind; });
  columns.add("jobs", "jobs", 0, [](const FailureSource& s) {
    return Cell(Value(static_cast<std::int64_t>(s.jobs)),
                group_digits(static_cast<double>(s.jobs)));
  });
  columns.add("gpu_hours", "GPU-hours", 0, [](const FailureSource& s) {
    return Cell(Value(s.gpu_hours), group_digits(s.gpu_hours));
  });
  columns.add("failures", "failures", 0, [](const FailureSource& s) { return s.failed(); });
  columns.add("kinds", "of them", 0, [](const FailureSource& s) {
    std::vector<std::string> parts;
    for (const auto& [kind, count] : s.failures) parts.push_back(fmt::format("{} {}", kind, count));
    return join(parts, ", ");
  });
  const auto day = [](double time) { return time > 0 ? format_day(time) : std::string(); };
  columns.add("from", "from", 0, [day](const FailureSource& s) { return day(s.from); });
  columns.add("to", "to", 0, [day](const FailureSource& s) { return day(s.to); });
  return columns.table("sources", "What was counted");
}

show::Table uncounted_table(const LearnedFailures& learned) {
  show::Columns<UncountedJobs> columns(learned.past.uncounted);
  columns.add("count", "count", 0, [](const UncountedJobs& u) {
    return Cell(Value(static_cast<std::int64_t>(u.count)),
                group_digits(static_cast<double>(u.count)));
  });
  columns.add("what", "what", 0, [](const UncountedJobs& u) { return u.what; });
  columns.add("why", "why", 0, [](const UncountedJobs& u) { return u.why; });
  return columns.table("not_counted", "What was not");
}

show::Answer answer_of(const LearnedFailures& learned) {
  show::Answer out;
  out.sections.push_back(show::Findings{"", {{"answer", answer_text(learned)}}});
  out.sections.push_back(constants_table(learned));
  out.sections.push_back(between_table(learned));
  out.sections.push_back(sources_table(learned));
  if (!learned.past.uncounted.empty()) out.sections.push_back(uncounted_table(learned));
  if (!learned.queue_wait)
    out.sections.push_back(show::Findings{
        "",
        {{"queue_wait",
          fmt::format("queue_wait stays as it is: {} of at least {} GPUs with a known wait, {} "
                      "are needed",
                      plural(learned.past.waits.size(), "job"), learned.past.wait_gpus,
                      kFewWaits)}}});
  return out;
}

Status write_learned(App& app, const LearnedFailures& learned, const std::string& output,
                     Console& console) {
  const auto& cluster = *learned.place.cluster;
  const auto to = cluster_file(cluster, output);
  auto text = read_file(cluster.file);
  if (!text) return text.error();
  const auto constants = constants_of(learned);
  text = hardware::with_operation(*text, learned.place.partition, constants,
                                  {"node_days_between_failures"}, cluster.file);
  if (!text) return text.error();
  if (const auto name = to.stem().string(); name != cluster.name) rename_cluster(*text, name);
  const auto again = read_again(cluster, *text, to, app.clusters());
  if (!again) return again.error();
  for (const auto& partition : again->partitions)
    if ((learned.place.partition.empty() || partition.name == learned.place.partition) &&
        partition.failures_per_gpu_hour() != constants.front().constant.value)
      return Error{printable(cluster.file),
                   fmt::format("{} has an `operation` of its own, which goes before the cluster's",
                               partition.name),
                   fmt::format("name it: --cluster {}/{}", cluster.name, partition.name)};
  if (auto status = write_output(to, *text); !status) return status;
  console.note(fmt::format("written to {}\n", printable(to.string())));
  return {};
}

}  // namespace

FailurePrior failure_prior(const plan::Partition& partition) {
  const auto& site = partition.operation;
  const bool by_node = !site.node_days_between_failures.origin.empty();
  const auto& origin = by_node ? site.node_days_between_failures.origin : site.failures.origin;
  const FailurePrior present{rounded(partition.failures_per_gpu_hour()),
                             rounded(site.failure_count.value), origin};
  const auto mark = origin.find(kPriorMark);
  const auto worth = origin.find(kWorthMark, mark == std::string::npos ? mark : mark + 1);
  const auto colon = origin.find(": ", worth);
  if (mark == std::string::npos || worth == std::string::npos || colon == std::string::npos)
    return present;
  const auto part = [&](std::size_t from, std::size_t to) {
    return number_from<double>(std::string_view(origin).substr(from, to - from));
  };
  const auto rate = part(mark + kPriorMark.size(), worth);
  const auto count = part(worth + kWorthMark.size(), colon);
  if (!positive(rate) || !positive(count)) return present;
  return {*rate, *count, origin.substr(colon + 2)};
}

std::string learned_origin(const std::string& observed, const FailurePrior& prior) {
  return fmt::format("measured: {}{}{:.5g}{}{:.5g}: {}", observed, kPriorMark, prior.rate,
                     kWorthMark, prior.count, prior.origin);
}

Ending failures_command(App& app, const CalibrateArguments& arguments, Console& console) {
  auto place = find_place(app, arguments);
  if (!place) return {place.error(), Exit::usage};
  auto past = read_past(arguments, *place);
  if (!past) return past.error();
  const auto learned = learn(std::move(*place), std::move(*past));
  if (!learned) return learned.error();
  arguments.common.give(answer_of(*learned), console);
  if (!arguments.write && arguments.output.empty()) {
    console.note(
        "nothing was written: --write puts this into the cluster's file, --output into another\n");
    return Exit::ok;
  }
  if (auto status = write_learned(app, *learned, arguments.output, console); !status)
    return status.error();
  console.note("next: orch plan FILE.lua has days with failures by this rate\n");
  return Exit::ok;
}

}  // namespace orch::app
