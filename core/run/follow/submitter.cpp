// Submits runs so that no run is ever submitted twice, even if orch or the scheduler is killed in
// between. A submission is written to disk with its id before the executor is called, the job
// carries the id, and the answer is stored by the called program itself. If no answer arrives,
// settle() asks the executor for a job with the id; until that is clear, the runs are neither
// due nor failed. Runs with the same request form an array, whose size is halved while the queue
// has no room for it. Limits on how many run at once are distributed over arrays by take_turns(),
// with dependencies between jobs.
#include "core/run/follow/submitter.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <set>
#include <sstream>
#include <tuple>

#include "core/base/text.h"
#include "core/run/follow/backoff.h"
#include "core/run/follow/examine.h"
#include "core/run/launch/slurm/array_script.h"
#include "core/run/launch/slurm/serial_job.h"

namespace orch::follow {
namespace {

constexpr int kUnclearAnswers = 4;  // in a row, with nothing accepted

constexpr std::size_t kErrorsShown = 10;

// A run of a serial job that ignores its limit is killed, with what it left, within so many
// seconds.
constexpr std::int64_t kEndSeconds = 120;

std::int64_t seconds_of_all(const std::vector<std::int64_t>& limits) {
  const auto count = static_cast<std::int64_t>(limits.size());
  return std::accumulate(limits.begin(), limits.end(), kEndSeconds * count);
}

// Nodes that failed the check of an earlier attempt.
std::vector<std::string> bad_nodes(const fs::path& run_folder) {
  std::vector<std::string> nodes;
  const auto text = read_file(run_folder / "exclude");
  if (!text) return nodes;
  for (const auto& line : split(*text, '\n'))
    if (is_plain_name(line)) nodes.push_back(line);
  std::sort(nodes.begin(), nodes.end());
  nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
  return nodes;
}

}  // namespace

std::vector<TaskLimit> deal_turns(const std::vector<std::size_t>& sizes, int limit) {
  std::vector<TaskLimit> turns(sizes.size());
  const auto lanes = static_cast<std::size_t>(limit);
  for (std::size_t i = 0; i < sizes.size(); ++i) turns[i].lane = i % lanes;
  // The remaining lanes go, one by one, to the submission with the most tasks per lane.
  for (auto left = lanes - std::min(lanes, sizes.size()); left > 0; --left) {
    std::size_t best = sizes.size();
    const auto load = [&](std::size_t i) {
      return static_cast<double>(sizes[i]) / static_cast<double>(turns[i].at_a_time);
    };
    for (std::size_t i = 0; i < sizes.size(); ++i)
      if (load(i) > 1 && (best == sizes.size() || load(i) > load(best))) best = i;
    if (best == sizes.size()) break;
    ++turns[best].at_a_time;
  }
  return turns;
}

fs::path Submitter::folder(std::size_t run) const {
  return fs::absolute(campaign_.folder() / campaign_.runs()[run].record.id);
}

std::string Submitter::script_name(std::size_t run, int phase) const {
  if (campaign_.runs()[run].phases == 0) return "run.json";
  return phase == 1 ? "job.sbatch" : fmt::format("job-{}.sbatch", phase);
}

// A refused submission never ran, and the run may have been planned again since.
const record::ScriptSums* Submitter::sums_before(const std::string& run, int phase) const {
  const auto& entries = campaign_.ledger().of(run);
  for (auto entry = entries.rbegin(); entry != entries.rend(); ++entry) {
    const auto& submission = campaign_.ledger().at(*entry).submission;
    if (submission.phase == phase && submission.refused.empty() && !submission.sums.empty())
      return &submission.sums[entry->task];
  }
  return nullptr;
}

// Removes from the list the runs that must not be submitted.
Errors Submitter::examine(std::vector<std::size_t>& runs) {
  Errors errors;
  std::erase_if(runs, [&](std::size_t run) {
    const auto& view = campaign_.runs()[run];
    const auto before = errors.size();
    for (int phase = view.phase; phase <= std::max(1, view.phases); ++phase) {
      if (sums_.contains({run, phase})) continue;
      auto sums = follow::examine(folder(run), script_name(run, phase),
                                  sums_before(view.record.id, phase), campaign_.options().trust);
      if (errors.add(sums)) sums_[{run, phase}] = std::move(*sums);
    }
    if (errors.size() == before) return false;
    campaign_.set_aside(view.record.id);
    ++handed_.unsafe;
    return true;
  });
  if (errors.size() > kErrorsShown) {
    errors[kErrorsShown - 1].fact +=
        fmt::format(" (and {} more like it)", errors.size() - kErrorsShown);
    errors.resize(kErrorsShown);
  }
  return errors;
}

Status Submitter::submit(std::vector<std::size_t> runs) {
  const auto refused = examine(runs);
  auto made = groups(runs);
  if (!made) return made.error();
  take_turns(*made);
  for (const auto& group : *made) {
    const bool phases = view(group).phases > 1;
    const auto status = phases         ? submit_phases(group)
                        : group.serial ? submit_serial(group)
                                       : submit_array(group);
    if (!status) return status;
    if (campaign_.world().interrupted()) break;
  }
  return refused;
}

Result<std::size_t> Submitter::count_jobs(const std::vector<std::size_t>& runs) {
  const auto made = groups(runs);
  if (!made) return made.error();
  std::size_t jobs = 0;
  for (const auto& group : *made) {
    const auto phases = static_cast<std::size_t>(view(group).phases);
    const auto largest =
        std::max<std::size_t>(1, campaign_.executor_of(view(group))->largest_array());
    if (group.serial)
      ++jobs;
    else
      jobs += phases > 1 ? phases : (group.runs.size() + largest - 1) / largest;
  }
  return jobs;
}

Status Submitter::test(const std::vector<std::size_t>& runs) {
  auto sound = runs;
  if (auto refused = examine(sound); !refused.empty()) return refused;
  const auto made = groups(runs);
  if (!made) return made.error();
  Errors errors;
  std::set<std::string> tested;  // each kind of request only once
  for (const auto& group : *made) {
    auto* executor = campaign_.executor_of(view(group));
    for (int phase = 1; phase <= std::max(1, view(group).phases); ++phase) {
      const auto script =
          read_file(folder(group.runs.front()) / script_name(group.runs.front(), phase));
      if (script && !tested.insert(launch::header_of(*script)).second) continue;
      Group one = group;
      one.runs.resize(1);
      one.serial = false;
      one.phase = phase;
      record::Submission submission;
      submission.executor = executor->name();
      submission.runs = {view(one).record.id};
      auto asked = request(one, folder(one.runs.front()));
      asked.submission = &submission;
      errors.add(executor->test(asked));
    }
  }
  if (!errors.empty()) return errors;
  return {};
}

// A start, and some times what the steps are expected to take, but not more than the script asks.
std::int64_t Submitter::seconds_limit(std::size_t run, const std::string& header) const {
  constexpr double kStart = 600, kTimes = 5;
  const auto& view = campaign_.runs()[run];
  const auto& own = campaign_.options().run_seconds;
  const auto steps = static_cast<double>(view.record.measured.steps_planned);
  const double seconds = own > 0 ? own : kStart + kTimes * steps * view.estimated_step();
  return static_cast<std::int64_t>(
      std::ceil(std::min(seconds, launch::time_limit(header).value_or(seconds))));
}

// The job as a whole asks for no more time than a run's own script.
bool Submitter::fits(const Group& group, std::int64_t seconds) const {
  if (group.runs.size() >= campaign_.options().runs_per_job) return false;
  const auto limit = launch::time_limit(group.header);
  auto limits = group.limits;
  limits.push_back(seconds);
  return !limit || static_cast<double>(seconds_of_all(limits)) <= *limit;
}

// Ramp-ups are submitted alone, local runs together, the others grouped by what they request, in
// the order of the runs.
Result<std::vector<Submitter::Group>> Submitter::groups(const std::vector<std::size_t>& runs) {
  std::vector<Group> out;
  std::map<std::tuple<std::string, std::vector<std::string>>, std::size_t> known;
  for (const auto run : runs) {
    const auto& view = campaign_.runs()[run];
    if (!campaign_.executor_of(view))
      return Error{view.record.id, "SLURM not found", "submit it on the cluster"};
    Group group;
    group.runs = {run};
    if (view.phases > 1) {
      out.push_back(std::move(group));
      continue;
    }
    if (view.phases == 1) {
      const auto script = read_file(folder(run) / script_name(run, 1));
      if (!script) return script.error();
      group.header = launch::header_of(*script);
      group.exclude = bad_nodes(folder(run));
      group.serial = campaign_.options().runs_per_job > 0;
      if (group.serial) group.limits = {seconds_limit(run, group.header)};
    }
    const auto [at, fresh] = known.emplace(std::tuple(group.header, group.exclude), out.size());
    if (!fresh && group.serial && !fits(out[at->second], group.limits.front())) {
      at->second = out.size();
      out.push_back(std::move(group));
    } else if (fresh) {
      out.push_back(std::move(group));
    } else {
      auto& first = out[at->second];
      first.runs.push_back(run);
      first.limits.insert(first.limits.end(), group.limits.begin(), group.limits.end());
    }
  }
  return out;
}

// Only the last phase of a ramp-up counts: the others come before it.
Submitter::ActiveJobs Submitter::under_way() const {
  ActiveJobs out;
  const auto& ledger = campaign_.ledger();
  for (const auto& run : campaign_.runs()) {
    auto entry = ledger.last(run.record.id, std::max(1, run.phases));
    if (!entry || ledger.at(*entry).submission.job.empty())
      entry = ledger.last(run.record.id, run.phase);
    if (!entry || !is_open(run)) continue;
    const auto& submission = ledger.at(*entry).submission;
    if (submission.executor != "slurm" || submission.job.empty()) continue;
    const bool fresh = out.jobs.insert(submission.job).second;
    if (!fresh && submission.serial) continue;
    out.tasks.push_back(submission.array ? fmt::format("{}_{}", submission.job, entry->task)
                                         : submission.job);
    out.all_run = out.all_run && run.record.state == record::RunState::running;
  }
  return out;
}

// SLURM can limit one array; here several submissions share the campaign's limit. Those already
// queued or running keep their limits: the new ones get the rest of it, or wait for them. If some
// of those still wait themselves, they would take each free place, so the new ones start after all
// of them; else each new one takes the place of a running one.
void Submitter::take_turns(std::vector<Group>& groups) {
  const auto limit = static_cast<std::size_t>(std::max(0, campaign_.options().at_a_time));
  if (limit == 0) return;
  const auto before = under_way();
  const bool full = before.tasks.size() >= limit;
  const auto lanes = full ? limit : limit - before.tasks.size();
  const std::vector<std::string> jobs(before.jobs.begin(), before.jobs.end());
  lanes_.assign(lanes, full ? join(jobs, ":") : "");
  std::vector<std::size_t> sizes;
  for (const auto& group : groups) sizes.push_back(group.serial ? 1 : group.runs.size());
  const auto turns = deal_turns(sizes, static_cast<int>(lanes));
  auto place = before.tasks.begin();
  for (std::size_t i = 0; i < groups.size(); ++i) {
    if (before.all_run && before.tasks.size() == limit && i < lanes) {
      const auto end = place + turns[i].at_a_time;
      lanes_[turns[i].lane] = join(std::vector<std::string>(place, end), ":");
      place = end;
    }
    if (campaign_.executor_of(view(groups[i]))->name() == "slurm") groups[i].turn = turns[i];
  }
}

// Submits an array of the largest size; if there is no room for it, halves the size.
Status Submitter::submit_array(Group group) {
  auto* executor = campaign_.executor_of(view(group));
  std::size_t size = std::max<std::size_t>(1, executor->largest_array());
  // After a size did not fit, it is not tried again at once.
  if (campaign_.room > 0) size = std::min(size, 2 * campaign_.room);
  std::size_t done = 0;
  while (done < group.runs.size() && !campaign_.world().interrupted()) {
    Group part = group;
    const auto first = group.runs.begin() + static_cast<std::ptrdiff_t>(done);
    size = std::min(size, group.runs.size() - done);
    part.runs.assign(first, first + static_cast<std::ptrdiff_t>(size));
    const auto result = hand_over(part);
    if (!result) return result.error();
    if (*result != Reply::no_room) {
      done += size;
      continue;
    }
    campaign_.room = std::max<std::size_t>(1, size / 2);
    if (done > 0) break;
    if (size > 1) {
      size /= 2;
    } else {
      break;
    }
  }
  handed_.waiting += group.runs.size() - done;
  return {};
}

Status Submitter::submit_serial(const Group& group) {
  const auto result = hand_over(group);
  if (!result) return result.error();
  if (*result == Reply::no_room) handed_.waiting += group.runs.size();
  return {};
}

Status Submitter::submit_phases(Group group) {
  const auto run = group.runs.front();
  const auto& view = campaign_.runs()[run];
  cancel_later_phases(view);
  group.exclude = bad_nodes(folder(run));
  for (group.phase = view.phase; group.phase <= view.phases; ++group.phase) {
    const auto result = hand_over(group);
    if (!result) return result.error();
    if (*result != Reply::accepted) {
      handed_.waiting += *result == Reply::no_room;
      return {};
    }
    const auto entry = campaign_.ledger().last(view.record.id, group.phase);
    group.after = campaign_.ledger().at(*entry).submission.id;
    group.after_job = campaign_.ledger().at(*entry).submission.job;
  }
  return {};
}

// Later phases wait for a job that will not succeed.
void Submitter::cancel_later_phases(const FollowedRun& view) {
  std::vector<Ledger::Entry> later;
  for (const auto& entry : campaign_.ledger().of(view.record.id)) {
    const auto& submission = campaign_.ledger().at(entry).submission;
    if (submission.phase > view.phase && !submission.job.empty()) later.push_back(entry);
  }
  (void)campaign_.cancel_jobs(later);
}

launch::SubmitRequest Submitter::request(const Group& group, const fs::path& at) const {
  launch::SubmitRequest out;
  out.folder = at;
  out.after = group.after_job;
  out.exclude = group.exclude;
  out.lock = campaign_.lock_descriptor();
  const bool array = group.runs.size() > 1 && !group.serial, together = array || group.serial;
  out.directory = together ? at : folder(group.runs.front());
  out.script = folder(group.runs.front()) / script_name(group.runs.front(), group.phase);
  if (together) out.script = at / store::script_name(group.serial);
  out.job_name = together ? campaign_.experiment().name : view(group).record.id;
  out.log = array ? "%a.log" : "slurm-%j.log";
  if (group.serial && launch::time_limit(group.header)) {
    const auto most = static_cast<std::int64_t>(*launch::time_limit(group.header));
    out.minutes = (std::min(seconds_of_all(group.limits), most) + 59) / 60;
  }
  if (!launch::can_log_below(out.directory)) out.log = "/dev/null";
  if (group.turn) {
    if (array) out.at_a_time = group.turn->at_a_time;
    if (group.after_job.empty()) out.after_any = lanes_[group.turn->lane];
  }
  return out;
}

// The submission is on disk before the executor is called.
Result<std::size_t> Submitter::write(const Group& group) {
  record::Submission submission;
  submission.executor = campaign_.executor_of(view(group))->name();
  submission.time = campaign_.world().clock->now();
  submission.serial = group.serial;
  submission.array = !group.serial && (group.runs.size() > 1 || submission.executor == "local");
  submission.phase = group.phase;
  submission.after = group.after;
  std::vector<fs::path> folders;
  for (const auto run : group.runs) {
    submission.runs.push_back(campaign_.runs()[run].record.id);
    submission.sums.push_back(sums_.at({run, group.phase}));
    folders.push_back(folder(run));
  }
  std::string script;
  if (submission.serial) {
    std::vector<launch::SerialRun> runs;
    for (std::size_t i = 0; i < folders.size(); ++i) runs.push_back({folders[i], group.limits[i]});
    script = launch::serial_script(group.header, runs);
  } else if (group.runs.size() > 1 && submission.executor == "slurm") {
    script = launch::array_script(group.header, folders);
  }
  auto place = store::write_submission(campaign_.folder(), submission, script);
  if (!place) return place.error();
  campaign_.ledger().add({submission, fs::absolute(*place)});
  return campaign_.ledger().all().size() - 1;
}

Result<launch::SubmitOutcome::Reply> Submitter::hand_over(const Group& group) {
  const auto& world = campaign_.world();
  auto* executor = campaign_.executor_of(view(group));
  Backoff backoff(*world.clock, campaign_.options().patience_seconds);
  while (true) {
    const auto place = write(group);
    if (!place) return place.error();
    const auto& opened = campaign_.ledger().all()[*place];
    auto asked = request(group, opened.folder);
    asked.submission = &opened.submission;
    const auto answer = executor->submit(asked);
    if (answer.reply != Reply::unreachable) return settle(*place, group, answer);
    campaign_.ledger().drop(*place);
    handed_.silent = !backoff.wait(world);
    if (handed_.silent)
      return Error{std::string(executor->name()), "does not answer: " + printable(answer.message),
                   "orch resume goes on when it does"};
  }
}

Result<launch::SubmitOutcome::Reply> Submitter::settle(std::size_t place, const Group& group,
                                                       launch::SubmitOutcome answer) {
  auto& ledger = campaign_.ledger();
  const auto& world = campaign_.world();
  if (answer.reply == Reply::unclear) {
    Backoff backoff(*world.clock, campaign_.options().patience_seconds);
    auto found = campaign_.executor_of(view(group))->find(ledger.all()[place].submission);
    // The controller may still be working on it: only a repeated "not found" counts.
    for (int nothing = 0; !found || (!*found && ++nothing < 3);) {
      handed_.silent = !backoff.wait(world);
      if (handed_.silent)
        return Error{std::string(ledger.all()[place].submission.executor),
                     "may have accepted a job: " + printable(answer.message),
                     "orch resume finds out when it answers"};
      found = campaign_.executor_of(view(group))->find(ledger.all()[place].submission);
    }
    if (!*found) {
      ledger.drop(place);
      handed_.silent = ++unclear_ >= kUnclearAnswers;
      if (!handed_.silent) return hand_over(group);
      return Error{std::string(campaign_.executor_of(view(group))->name()),
                   "accepts no job, without a reason: " + printable(answer.message),
                   "orch resume goes on when it does"};
    }
    answer = {Reply::accepted, **found, ""};
  }
  unclear_ = 0;
  if (answer.reply == Reply::no_room) {
    ledger.drop(place);
    if (group.serial || group.runs.size() == 1)
      world.say("no room for more jobs now: " + printable(answer.message));
    return Reply::no_room;
  }
  if (answer.reply == Reply::refused) {
    if (auto status = ledger.note_refusal(place, answer.message); !status) return status.error();
    world.say(fmt::format("{} refused {}: {}", campaign_.executor_of(view(group))->name(),
                          printable(view(group).record.id), printable(answer.message)));
    handed_.refused += group.runs.size();
    return Reply::refused;
  }
  if (auto status = ledger.note_job(place, answer.job); !status) return status.error();
  if (group.turn) lanes_[group.turn->lane] = answer.job;
  if (group.phase == view(group).phase) {
    handed_.runs += group.runs.size();
    for (const auto run : group.runs) campaign_.submitted(run);
  }
  ++handed_.jobs;
  return Reply::accepted;
}

}  // namespace orch::follow
