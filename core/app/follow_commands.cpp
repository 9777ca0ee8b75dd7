#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <ctime>

#include "core/app/app.h"
#include "core/app/commands.h"
#include "core/app/session.h"
#include "core/app/trainers.h"
#include "core/base/terminal.h"
#include "core/base/text.h"
#include "core/base/units.h"
#include "core/run/store/run_folder.h"
#include "core/show/tables/words.h"

namespace orch::app {
namespace {

using follow::Campaign;

// Opens the campaign of each target and calls the verb; returns the worst exit code.
template <class Verb>
Ending for_targets(const FollowArguments& arguments, Console& console, Verb&& verb) {
  const auto targets = find_targets(arguments.runs, arguments.targets);
  if (!targets) return targets.error();
  AppSession session(console);
  auto worst = Exit::ok;
  for (const auto& target : *targets) {
    Campaign campaign(arguments.runs, target.experiment,
                      session.world(fs::path(arguments.runs) / target.experiment),
                      arguments.options);
    if (auto status = campaign.open(); !status) {
      console.complain(status.error());
      worst = std::max(worst, Exit::error);
      continue;
    }
    if (tell_troubles(campaign, console)) worst = std::max(worst, Exit::error);
    const auto ended = verb(session, campaign, target);
    console.complain(ended.errors);
    worst = std::max(worst, ended.exit);
    if (interrupted()) return Exit::interrupted;
  }
  return worst;
}

void mention_index(const Campaign& campaign, Console& console) {
  if (!campaign.index_trouble().empty())
    console.note("note: " + campaign.index_trouble() + "; reading the run folders instead\n");
}

// The runs of a target that resume, or retry, would submit now.
std::vector<std::size_t> to_submit(const Campaign& campaign, const SessionTarget& target,
                                   bool retry) {
  std::vector<std::size_t> out;
  for (const auto place : places(campaign, target)) {
    const auto& view = campaign.runs()[place];
    const auto state = view.record.state;
    const bool again = retry && view.damage.empty() && view.settled &&
                       (state == record::RunState::failed || state == record::RunState::cancelled);
    if (campaign.would_be_due(place) || again) out.push_back(place);
  }
  return out;
}

std::vector<std::size_t> to_cancel(const Campaign& campaign, const SessionTarget& target) {
  std::vector<std::size_t> out;
  for (const auto place : places(campaign, target))
    if (follow::is_open(campaign.runs()[place]) || campaign.is_due(place)) out.push_back(place);
  return out;
}

// Submits the confirmed runs under the lock, taking into account what others did meanwhile.
Ending submit_now(Campaign& campaign, const SessionTarget& target, bool retry, Console& console) {
  if (auto begun = campaign.begin(FileLock::Wait::yes); !begun)
    return {begun.error(), campaign.silent_since() ? Exit::scheduler_unreachable : Exit::error};
  const auto due = to_submit(campaign, target, retry);
  campaign.clear_stop_files(due);
  if (auto status = campaign.check_budget(due); !status) return {status.error(), Exit::over_budget};
  if (retry)
    if (auto status = campaign.forget_failures(due); !status) return status.error();
  follow::Submitter submitter(campaign);
  const auto status = submitter.submit(due);
  campaign.end();
  const auto& handed = submitter.handed();
  console.note(
      fmt::format("{} submitted as {}\n", plural(handed.runs, "run"), plural(handed.jobs, "job")));
  if (!status) return {status.error(), handed.silent ? Exit::scheduler_unreachable : Exit::error};
  return handed.refused > 0 ? Exit::runs_failed : Exit::ok;
}

// Suggests another verb if nothing is due.
std::string what_else(const Campaign& campaign, const SessionTarget& target, bool retry) {
  if (!retry && !to_submit(campaign, target, true).empty())
    return "; orch retry " + shell_path(target.experiment) +
           " submits failed and cancelled runs again";
  std::size_t rendered = 0;
  record::Origin origin;
  for (const auto place : places(campaign, target)) {
    const auto& view = campaign.runs()[place];
    if (view.record.state != record::RunState::planned || view.wanted) continue;
    if (rendered++ == 0) (void)store::read_provenance(campaign.folder() / view.record.id, origin);
  }
  if (rendered == 0) return "";
  return fmt::format(
      "; {} only rendered: orch run {} -y submits {}",
      rendered == 1 ? "1 run was" : fmt::format("{} runs were", rendered),
      origin.experiment_file.empty() ? "FILE.lua" : shell_path(origin.experiment_file),
      rendered == 1 ? "it" : "them");
}

// Reads, asks and submits. The lock is not held while a user decides.
Ending submit_again(Campaign& campaign, const SessionTarget& target,
                    const FollowArguments& arguments, bool retry, Console& console) {
  // The result of an interrupted submission must be known before asking.
  if (auto begun = campaign.begin(FileLock::Wait::yes); !begun)
    return {begun.error(), campaign.silent_since() ? Exit::scheduler_unreachable : Exit::error};
  campaign.settle_lost();
  campaign.end();
  const auto due = to_submit(campaign, target, retry);
  if (due.empty()) {
    console.note(target.experiment + ": nothing to submit" + what_else(campaign, target, retry) +
                 "\n");
    return Exit::ok;
  }
  if (auto status = campaign.check_budget(due); !status) return {status.error(), Exit::over_budget};
  if (auto ended = build_trainers(local_backends(campaign, due)); !ended.ok()) return ended;
  double hours = 0;
  for (const auto place : due) hours += campaign.gpu_hours_left(place);
  const auto question =
      fmt::format("submit {} of {}, up to {} GPU-hours?", plural(due.size(), "run"),
                  target.experiment, tables::significant(hours));
  if (!arguments.yes && !console.confirm(question)) return Exit::usage;
  return submit_now(campaign, target, retry, console);
}

// All targets are submitted before any is followed.
Ending again_command(const FollowArguments& arguments, bool retry, Console& console) {
  auto submitted = for_targets(arguments, console,
                               [&](AppSession&, Campaign& campaign, const SessionTarget& target) {
                                 return submit_again(campaign, target, arguments, retry, console);
                               });
  if (arguments.detach || (!submitted.ok() && submitted.exit != Exit::runs_failed))
    return submitted;
  const auto followed = for_targets(
      arguments, console,
      [&](AppSession& session, Campaign& campaign, const SessionTarget& target) -> Ending {
        campaign.refresh();
        const bool open =
            std::any_of(campaign.runs().begin(), campaign.runs().end(), follow::is_open);
        if (!open) return exit_of(standings(campaign, target));
        return follow_and_report(session, campaign, target, arguments.common, true, console);
      });
  return std::max(submitted.exit, followed.exit);
}

// Shows the progress of runs: a live picture on a terminal, else a line for each change. News are
// printed above the picture.
class LiveDisplay {
 public:
  LiveDisplay(const show::Screen& screen, Console& console) : screen_(screen), console_(console) {}
  ~LiveDisplay() { console_.draw(""); }

  void show(const tables::Standings& standings);
  void say(const std::string& news);

 private:
  show::Screen screen_;
  Console& console_;
  tables::Standings before_;
};

void LiveDisplay::say(const std::string& news) {
  if (console_.canvas()) return console_.print(show::wrap(printable_lines(news) + "\n", screen_));
  console_.print(fmt::format("{:%H:%M:%S} {}\n", fmt::localtime(std::time(nullptr)), news));
}

void LiveDisplay::show(const tables::Standings& standings) {
  if (const auto size = console_.canvas()) {
    // A line that fills the last column leaves the cursor there, and erasing the rest would remove
    // its last character.
    screen_.width = size->columns - 1;
    return console_.draw(tables::watch_screen(standings, screen_, size->lines));
  }
  const auto lines = tables::changes(before_, standings);
  for (const auto& line : lines) say(line);
  const auto summary = tables::status_summary(standings);
  if (!lines.empty()) say(summary.substr(0, summary.find('\n')));
  before_ = standings;
}

// Measurements beside estimates; and a line for each run that has none.
std::string final_text(const tables::Standings& standings, const fs::path& folder,
                       const show::Screen& screen) {
  auto rest = standings;
  std::erase_if(rest.runs, [](const tables::RunStatus& run) {
    return run.record.state == record::RunState::finished && run.record.measured.step_seconds;
  });
  std::string out = show::text(tables::measured_table(standings), screen);
  if (!rest.runs.empty())
    out += (out.empty() ? "" : "\n") + show::text(tables::status_table(rest, 20), screen);
  out += "\n" + show::wrap(tables::status_summary(standings), screen);
  const auto answer = tables::measured_answer(standings);
  if (answer.text.empty()) return out;
  out += show::wrap(answer.text + "\n", screen) +
         "next, for how sure that is and why: orch compare --in " + shell_path(folder);
  for (const auto& strategy : answer.strategies) out += " " + shell_quote("strategy=" + strategy);
  return out + "\n";
}

}  // namespace

Ending follow_and_report(AppSession& session, Campaign& campaign, const SessionTarget& target,
                         const CommonArguments& common, bool carry_on, Console& console) {
  const auto now = [&] { return standings(campaign, target); };
  bool ended = true;
  {
    LiveDisplay live(common.screen, console);
    const auto quiet = session.say;
    if (common.format == "table") session.say = [&](const std::string& line) { live.say(line); };
    follow::FollowOptions options;
    options.carry_on = carry_on;
    options.only = target.runs;
    options.drawn = [&](const Campaign&) {
      if (common.format == "table") live.show(now());
    };
    ended = follow::follow(campaign, options);
    session.say = quiet;
  }
  const auto last = now();
  if (!ended) {
    console.note(
        fmt::format("stopped watching; the jobs continue. orch watch {0} follows them again, orch "
                    "cancel {0} ends them\n",
                    campaign.experiment().name));
    return Exit::interrupted;
  }
  if (common.format == "table") console.print(final_text(last, campaign.folder(), common.screen));
  return exit_of(last);
}

Ending status_command(const FollowArguments& arguments, Console& console) {
  std::vector<tables::Standings> all;
  auto ended =
      for_targets(arguments, console,
                  [&](AppSession&, Campaign& campaign, const SessionTarget& target) -> Ending {
                    campaign.refresh();
                    const bool trouble = tell_troubles(campaign, console);
                    mention_index(campaign, console);
                    all.push_back(standings(campaign, target));
                    return std::max(trouble ? Exit::error : Exit::ok, exit_of(all.back()));
                  });
  const bool for_programs = arguments.common.format == "json" || arguments.common.format == "csv";
  if (!all.empty() || (for_programs && ended.exit != Exit::usage))
    arguments.common.give(tables::status_answer(all, arguments.top), console);
  return ended;
}

Ending watch_command(const FollowArguments& arguments, Console& console) {
  std::vector<std::string> under_way;
  if (arguments.targets.empty())
    (void)for_targets(arguments, console,
                      [&](AppSession&, Campaign& campaign, const SessionTarget& target) {
                        campaign.refresh();
                        if (!to_cancel(campaign, target).empty())
                          under_way.push_back(target.experiment);
                        return Ending(Exit::ok);
                      });
  if (under_way.size() > 1)
    return {Error{"orch watch", "several experiments are running",
                  "name one of them: " + join(under_way, ", ")},
            Exit::usage};
  return for_targets(
      arguments, console,
      [&](AppSession& session, Campaign& campaign, const SessionTarget& target) -> Ending {
        mention_index(campaign, console);
        return follow_and_report(session, campaign, target, arguments.common, !arguments.look_only,
                                 console);
      });
}

Ending resume_command(const FollowArguments& arguments, Console& console) {
  return again_command(arguments, false, console);
}

Ending retry_command(const FollowArguments& arguments, Console& console) {
  return again_command(arguments, true, console);
}

Ending cancel_command(const FollowArguments& arguments, Console& console) {
  return for_targets(
      arguments, console,
      [&](AppSession&, Campaign& campaign, const SessionTarget& target) -> Ending {
        if (!arguments.options.trust)
          if (auto status = store::check_owner(campaign.folder()); !status) return status.error();
        campaign.refresh();
        const auto asked = to_cancel(campaign, target);
        if (asked.empty()) {
          console.note(target.experiment + ": nothing to cancel\n");
          return Exit::ok;
        }
        const auto question =
            fmt::format("cancel {} of {}{}?", plural(asked.size(), "run"), target.experiment,
                        arguments.stop ? " after their next checkpoint" : "");
        if (!arguments.yes && !console.confirm(question)) return Exit::usage;
        if (auto begun = campaign.begin(FileLock::Wait::yes); !begun) return begun.error();
        const auto open = to_cancel(campaign, target);
        const auto status = arguments.stop ? campaign.ask_to_stop(open) : campaign.cancel(open);
        if (!status) return status.error();
        console.note(
            fmt::format("{} {}\n", plural(open.size(), "run"),
                        arguments.stop ? "will stop after their next checkpoint" : "cancelled"));
        return Exit::ok;
      });
}

Ending index_command(const FollowArguments& arguments, Console& console) {
  Errors damaged;
  const auto count = store::rebuild_index(arguments.runs, &damaged);
  if (!count) return count.error();
  console.print(fmt::format("{} runs in {}\n", *count,
                            printable((fs::path(arguments.runs) / "index.jsonl").string())));
  return damaged.empty() ? Ending(Exit::ok) : damaged;
}

}  // namespace orch::app
