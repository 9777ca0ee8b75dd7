#include "core/run/launch/slurm/slurm_history.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>

#include "core/base/number.h"
#include "core/base/text.h"
#include "core/run/launch/slurm/slurm_jobs.h"

namespace orch::launch {
namespace {

enum HistoryColumn {
  h_job,
  h_raw,
  h_partition,
  h_state,
  h_submit,
  h_eligible,
  h_start,
  h_end,
  h_nodes,
  h_resources,
  h_count
};
constexpr std::array<std::string_view, h_count> kHistoryColumns{
    "JobID",    "JobIDRaw", "Partition", "State",  "Submit",
    "Eligible", "Start",    "End",       "NNodes", "AllocTRES"};

// Where the columns are; -1: the text does not have it.
using HistoryColumns = std::array<int, h_count>;

HistoryColumns columns_of(const std::vector<std::string>& header) {
  HistoryColumns out;
  for (std::size_t i = 0; i < h_count; ++i) {
    const auto found = std::ranges::find_if(
        header, [&](const auto& name) { return lower(trim(name)) == lower(kHistoryColumns[i]); });
    out[i] = found == header.end() ? -1 : static_cast<int>(found - header.begin());
  }
  return out;
}

Status check_columns(const HistoryColumns& at, const std::string& file) {
  std::vector<std::string> missing;
  for (const auto column : {h_job, h_state, h_start, h_end})
    if (at[column] < 0) missing.emplace_back(kHistoryColumns[column]);
  if (at[h_eligible] < 0 && at[h_submit] < 0) missing.emplace_back("Eligible (or Submit)");
  if (at[h_resources] < 0 && at[h_nodes] < 0) missing.emplace_back("AllocTRES (or NNodes)");
  if (missing.empty()) return {};
  const bool none = at[h_job] < 0 && at[h_state] < 0;
  return Error{printable(file),
               none ? "the first line is not the header of sacct -P: no column JobID, no State"
                    : fmt::format("no column {}", and_list(missing)),
               "make it with: " + history_command()};
}

class HistoryLine {
 public:
  HistoryLine(const HistoryColumns& at, const std::vector<std::string>& fields)
      : at_(at), fields_(fields) {}
  std::string_view operator[](HistoryColumn column) const {
    const int at = at_[column];
    return at < 0 ? std::string_view() : trim(fields_[static_cast<std::size_t>(at)]);
  }
  // 0: unknown, or no time of a job.
  double moment(HistoryColumn column) const {
    constexpr double kLast = 1e11;  // seconds since 1970: the year 5138
    const double time = parse_slurm_moment((*this)[column]);
    return time > 0 && time < kLast ? time : 0;
  }
  std::int64_t nodes() const {
    return bounded(number_from<std::int64_t>((*this)[h_nodes]).value_or(0));
  }
  std::int64_t gpus() const { return bounded(gpus_in((*this)[h_resources])); }

 private:
  static std::int64_t bounded(std::int64_t count) {
    constexpr std::int64_t kMost = 100'000'000;  // of any machine
    return count > 0 && count <= kMost ? count : 0;
  }

  const HistoryColumns& at_;
  const std::vector<std::string>& fields_;
};

PastJob job_of(const HistoryLine& line) {
  PastJob out;
  out.job = line[h_job];
  out.raw = line[h_raw];
  out.partition = line[h_partition];
  out.state = line[h_state].substr(0, line[h_state].find(' '));
  out.waiting = line.moment(h_eligible) > 0 ? line.moment(h_eligible) : line.moment(h_submit);
  // The start of a pending job is the scheduler's expectation.
  if (out.state != "PENDING") out.start = line.moment(h_start);
  out.end = line.moment(h_end);
  out.ended = out.end > 0;
  out.nodes = line.nodes();
  out.gpus = line.gpus();
  return out;
}

// Keeps one of the lines about the same start of the same job.
std::size_t drop_repeated(std::vector<PastJob>& jobs) {
  std::map<std::pair<std::string, double>, std::size_t> places;
  std::vector<PastJob> out;
  for (auto& job : jobs) {
    const auto [place, fresh] = places.emplace(std::pair(job.job, job.start), out.size());
    if (fresh) {
      out.push_back(std::move(job));
      continue;
    }
    auto& known = out[place->second];
    const auto rank = [](const PastJob& each) { return std::pair(each.ended, each.end); };
    if (rank(job) > rank(known)) known = std::move(job);
  }
  const auto repeated = jobs.size() - out.size();
  jobs = std::move(out);
  return repeated;
}

}  // namespace

std::string history_command() {
  return fmt::format("SLURM_TIME_FORMAT=%s sacct -P -X -D -a --starttime 2026-01-01 --format={}",
                     kHistoryFields);
}

bool JobHistory::tells_gpus() const {
  return std::ranges::any_of(jobs, [](const PastJob& job) { return job.gpus > 0; });
}

void JobHistory::add(JobHistory other) {
  std::ranges::move(other.jobs, std::back_inserter(jobs));
  steps += other.steps;
  unreadable += other.unreadable;
  repeated += other.repeated + drop_repeated(jobs);
}

Result<JobHistory> parse_job_history(std::string_view text, const std::string& file) {
  auto lines = split(text, '\n');
  for (auto& line : lines)
    if (line.ends_with('\r')) line.pop_back();
  std::erase_if(lines, [](const auto& line) { return trim(line).empty(); });
  const auto header = split(lines.empty() ? std::string() : lines.front(), '|');
  const auto at = columns_of(header);
  if (auto status = check_columns(at, file); !status) return status.error();
  JobHistory out;
  double last = 0;
  for (std::size_t i = 1; i < lines.size(); ++i) {
    const auto fields = split(lines[i], '|');
    if (fields == header) continue;  // several outputs in one file
    if (fields.size() != header.size()) {
      ++out.unreadable;
      continue;
    }
    const HistoryLine line(at, fields);
    if (line[h_job].find('.') != std::string_view::npos) {
      ++out.steps;
      continue;
    }
    auto job = job_of(line);
    // A job may be eligible in the future only; all else is past.
    last = std::max({last, line.moment(h_submit), job.start, job.end});
    out.jobs.push_back(std::move(job));
  }
  for (auto& job : out.jobs)
    if (!job.ended) job.end = last;
  out.repeated = drop_repeated(out.jobs);
  return out;
}

}  // namespace orch::launch
