#include "core/run/launch/slurm/slurm_jobs.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <ctime>

#include "core/base/number.h"
#include "core/plan/slurm.h"

namespace orch::launch {
namespace {

using std::string_view_literals::operator""sv;

// Removes the text up to the next separator and returns it.
std::string_view cut(std::string_view& text, char separator) {
  const auto at = std::min(text.find(separator), text.size());
  const auto head = text.substr(0, at);
  text.remove_prefix(std::min(at + 1, text.size()));
  return head;
}

// The fields of a line, the last one with all that is left; false if there are fewer.
template <std::size_t count>
bool cut_fields(std::string_view line, char separator, std::array<std::string_view, count>& into) {
  for (std::size_t i = 0; i + 1 < count; ++i) {
    if (line.find(separator) == std::string_view::npos) return false;
    into[i] = cut(line, separator);
  }
  into[count - 1] = line;
  return true;
}

bool is_number(std::string_view text) { return number_from<std::uint64_t>(text).has_value(); }

std::string_view first_word(std::string_view text) { return cut(text, ' '); }

std::string known(std::string_view text) {
  return text == "None" || text == "(null)" || text == "N/A" || text == "None assigned"
             ? std::string()
             : std::string(text);
}

std::string name_of(std::string_view job, std::optional<std::size_t> task) {
  return task ? std::string(job) + "_" + std::to_string(*task) : std::string(job);
}

enum QueueField {
  q_job,
  q_task,
  q_state,
  q_exit,
  q_restarts,
  q_start,
  q_end,
  q_used,
  q_nodes,
  q_node_count,
  q_reason,
  q_resources,
  q_per_node,
  q_comment,
  q_count
};
using QueueLine = std::array<std::string_view, q_count>;

// The status of wait(): 256 for exit 1, 15 for SIGTERM.
std::optional<int> exit_of_wait(std::string_view text) {
  const auto status = number_from<int>(text);
  if (!status) return {};
  return (*status & 0x7f) != 0 ? 128 + (*status & 0x7f) : (*status >> 8) & 0xff;
}

record::JobFact queue_fact(const QueueLine& line) {
  record::JobFact fact;
  fact.state = line[q_state];
  fact.reason = known(line[q_reason]);
  fact.nodes = known(line[q_nodes]);
  fact.out_of_memory = fact.state == "OUT_OF_MEMORY";
  // Before a job starts, these times are the scheduler's expectation, and so is the end until it
  // ends.
  if (fact.state != "PENDING") fact.start = parse_slurm_moment(line[q_start]);
  if (has_ended(fact.state)) {
    fact.end = parse_slurm_moment(line[q_end]);
    fact.exit_code = exit_of_wait(line[q_exit]);
  }
  fact.elapsed_seconds = plan::parse_slurm_time(line[q_used]).value_or(0);
  // Only accounting knows the earlier starts.
  if (line[q_restarts] == "0") {
    auto gpus = gpus_in(line[q_resources]);  // only where the site tracks gres/gpu
    if (gpus == 0)
      gpus = gpus_in(line[q_per_node]) * number_from<std::int64_t>(line[q_node_count]).value_or(0);
    fact.gpu_hours = static_cast<double>(gpus) * fact.elapsed_seconds / 3600;
  }
  return fact;
}

enum AccountField {
  a_id,
  a_state,
  a_exit,
  a_start,
  a_end,
  a_elapsed,
  a_resources,
  a_nodes,
  a_reason,
  a_name,
  a_comment,
  a_submit,
  a_count
};
using AccountLine = std::array<std::string_view, a_count>;

// "1:0": exit code and signal.
std::optional<int> exit_of_pair(std::string_view text) {
  const auto code = number_from<int>(cut(text, ':'));
  const auto signal = number_from<int>(text).value_or(0);
  if (!code) return {};
  return *code == 0 && signal > 0 ? 128 + signal : *code;
}

record::JobFact account_fact(const AccountLine& line) {
  record::JobFact fact;
  fact.state = first_word(line[a_state]);  // "CANCELLED by 1000"
  // For an ended job, this is still the reason for which it waited.
  if (!has_ended(fact.state)) fact.reason = known(line[a_reason]);
  fact.nodes = known(line[a_nodes]);
  fact.out_of_memory = fact.state == "OUT_OF_MEMORY";
  fact.start = parse_slurm_moment(line[a_start]);
  fact.end = parse_slurm_moment(line[a_end]);
  if (has_ended(fact.state)) fact.exit_code = exit_of_pair(line[a_exit]);
  fact.elapsed_seconds = number_from<double>(line[a_elapsed]).value_or(0);
  fact.gpu_hours = static_cast<double>(gpus_in(line[a_resources])) * fact.elapsed_seconds / 3600;
  return fact;
}

// "0-9:3" or "7" at the end of the list; false if the syntax is different.
bool append_range(std::string_view text, std::vector<std::size_t>& tasks) {
  constexpr std::size_t kMost = 1'000'000;
  auto range = text;
  auto ends = cut(range, ':');
  const auto step = range.empty() ? 1 : number_from<std::size_t>(range).value_or(0);
  const bool is_one = ends.find('-') == std::string_view::npos;
  const auto first = number_from<std::size_t>(cut(ends, '-'));
  const auto last = is_one ? first : number_from<std::size_t>(ends);
  if (!first || !last || step == 0 || *last < *first) return false;
  if ((*last - *first) / step + tasks.size() >= kMost) return false;
  for (auto task = *first; task <= *last; task += step) tasks.push_back(task);
  return true;
}

// "123", "123_4" or "123_[0-9%2]": job and tasks. An empty job: other syntax.
struct Id {
  std::string_view job;
  std::vector<std::optional<std::size_t>> tasks;
};
Id parse_id(std::string_view text) {
  Id id;
  id.job = cut(text, '_');
  if (!is_number(id.job)) return {};
  if (text.empty()) {
    id.tasks.push_back({});
    return id;
  }
  if (text.front() == '[' && text.back() == ']') text = text.substr(1, text.size() - 2);
  for (const auto task : parse_tasks(text)) id.tasks.emplace_back(task);
  return id;
}

}  // namespace

const std::string_view kQueueFields =
    "ArrayJobID:|,ArrayTaskID:|,State:|,exit_code:|,RestartCnt:|,StartTime:|,EndTime:|,TimeUsed:|,"
    "NodeList:|,NumNodes:|,Reason:|,tres-alloc:|,tres-per-node:|,Comment:";

// User-controlled fields come last: a line break in one of them damages only itself.
const std::string_view kAccountingFields =
    "JobID,State,ExitCode,Start,End,ElapsedRaw,AllocTRES,NodeList,Reason,JobName,Comment";

std::vector<JobRow> parse_queue(std::string_view text, std::string_view comment_prefix) {
  std::vector<JobRow> rows;
  QueueLine line;
  while (!text.empty()) {
    if (!cut_fields(cut(text, '\n'), '|', line)) continue;
    if (!line[q_comment].starts_with(comment_prefix) || !is_number(line[q_job])) continue;
    JobRow row{std::string(line[q_job]), {}, std::string(line[q_comment]), queue_fact(line)};
    const auto add = [&](std::optional<std::size_t> task) {
      rows.push_back(row);
      rows.back().task = task;
      rows.back().fact.job = name_of(row.job, task);
    };
    if (line[q_task] == "N/A") {
      add({});
    } else {
      for (const auto task : parse_tasks(line[q_task])) add(task);
    }
  }
  return rows;
}

std::vector<JobRow> parse_accounting(std::string_view text) {
  std::vector<JobRow> rows;
  std::size_t of_last_job = 0;  // number of rows that the following steps belong to
  AccountLine line;
  while (!text.empty()) {
    if (!cut_fields(cut(text, '\n'), kAccountingSeparator, line)) continue;
    auto step = line[a_id];
    const auto id = parse_id(cut(step, '.'));
    if (!step.empty()) {
      const bool killed = first_word(line[a_state]) == "OUT_OF_MEMORY";
      for (auto i = rows.size() - of_last_job; killed && i < rows.size(); ++i)
        rows[i].fact.out_of_memory = true;
      continue;
    }
    of_last_job = id.tasks.size();
    for (const auto& task : id.tasks) {
      rows.push_back({std::string(id.job), task, std::string(line[a_comment]), account_fact(line)});
      rows.back().marks.append("\n").append(line[a_name]).append("\n").append(line[a_submit]);
      rows.back().fact.job = name_of(id.job, task);
    }
  }
  return rows;
}

bool carries(std::string_view marks, std::string_view submission_id) {
  const auto is_part = [&](std::size_t at) {
    if (at >= marks.size()) return false;
    const auto c = static_cast<unsigned char>(marks[at]);
    return std::isalnum(c) != 0 || c == '-' || c == '_';
  };
  for (auto at = marks.find(submission_id); at != std::string_view::npos;
       at = marks.find(submission_id, at + 1))
    if (!(at > 0 && is_part(at - 1)) && !is_part(at + submission_id.size())) return true;
  return false;
}

bool has_ended(std::string_view state) {
  static constexpr std::array kEnds{"BOOT_FAIL"sv, "CANCELLED"sv, "COMPLETED"sv,     "DEADLINE"sv,
                                    "FAILED"sv,    "NODE_FAIL"sv, "OUT_OF_MEMORY"sv, "PREEMPTED"sv,
                                    "TIMEOUT"sv,   "REVOKED"sv,   "LAUNCH_FAILED"sv};
  return std::ranges::find(kEnds, state) != kEnds.end();
}

double parse_slurm_moment(std::string_view text) {
  if (const auto seconds = number_from<double>(text)) return *seconds;
  std::tm parts{};
  const std::string whole(text);
  const char* end = ::strptime(whole.c_str(), "%Y-%m-%dT%H:%M:%S", &parts);
  if (end == nullptr || *end != '\0') return 0;
  parts.tm_isdst = -1;
  return static_cast<double>(std::mktime(&parts));
}

std::vector<std::size_t> parse_tasks(std::string_view text) {
  std::vector<std::size_t> tasks;
  auto list = cut(text, '%');
  while (!list.empty())
    if (!append_range(cut(list, ','), tasks)) return {};
  return tasks;
}

std::int64_t gpus_in(std::string_view resources) {
  std::int64_t all = 0, typed = 0;
  while (!resources.empty()) {
    auto item = cut(resources, ',');
    if (item.starts_with("gres/") || item.starts_with("gres:")) item.remove_prefix(5);
    if (!item.starts_with("gpu")) continue;
    const auto at = item.find_last_of(":=");
    const auto kind = at == std::string_view::npos ? item : item.substr(0, at);
    auto count_text = at == std::string_view::npos ? "1"sv : item.substr(at + 1);
    const auto count = number_from<std::int64_t>(cut(count_text, '(')).value_or(0);
    (kind == "gpu" ? all : typed) += count;
  }
  return all > 0 ? all : typed;
}

}  // namespace orch::launch
