#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

#include "core/base/text.h"
#include "core/cli/app.h"
#include "core/cli/exit.h"
#include "core/cli/follow_arguments.h"
#include "core/cli/live.h"
#include "core/cli/session.h"
#include "core/cli/trainers.h"
#include "core/show/tables/words.h"
#include "core/run/store/run_folder.h"

namespace orch::cli {
namespace {

using follow::Campaign;

// One document for all experiments.
std::string text_of(const std::vector<tables::Standings>& all, const FollowArguments& arguments) {
  const auto& [format, screen] = arguments.common;
  if (format == "json") return tables::status_json(all);
  if (format == "csv") return tables::status_csv(all);
  std::string out;
  for (const auto& standings : all) {
    if (!out.empty()) out += "\n";
    if (format == "md")
      out += (all.size() > 1 ? fmt::format("## {}\n\n", printable(standings.experiment)) : "") +
             tables::status_markdown(standings);
    else
      out += tables::status_table(standings, screen, arguments.top) +
             tables::wrap(tables::status_summary(standings), screen);
  }
  return out;
}

// Opens the campaign of each target and hands it on; the worst exit code counts.
template <class Verb>
int for_targets(const FollowArguments& arguments, Verb&& verb) {
  const auto targets = find_targets(arguments.runs, arguments.targets);
  if (!targets) return fail(targets.error(), kError);
  Session session;
  int worst = kOk;
  for (const auto& target : *targets) {
    Campaign campaign(arguments.runs, target.experiment,
                      session.world(fs::path(arguments.runs) / target.experiment),
                      arguments.options);
    if (auto status = campaign.open(); !status) {
      worst = std::max(worst, fail(status.error(), kError));
      continue;
    }
    if (tell_troubles(campaign)) worst = std::max<int>(worst, kError);
    worst = std::max(worst, verb(session, campaign, target));
    if (interrupted()) return kInterrupted;
  }
  return worst;
}

void mention_index(const Campaign& campaign) {
  if (!campaign.index_trouble().empty())
    note("note: " + campaign.index_trouble() + "; reading the run folders instead\n");
}

// Of a target: what resume, or retry, would submit now.
std::vector<std::size_t> to_submit(const Campaign& campaign, const Target& target, bool retry) {
  std::vector<std::size_t> out;
  for (const auto place : places(campaign, target)) {
    const auto& view = campaign.runs()[place];
    const auto state = view.verdict().state;
    const bool again = retry && view.damage.empty() && view.settled &&
                       (state == record::State::failed || state == record::State::cancelled);
    if (campaign.would_be_due(place) || again) out.push_back(place);
  }
  return out;
}

// What the user said yes to, under the lock; what others did meanwhile counts.
int submit_now(Campaign& campaign, const Target& target, bool retry) {
  if (auto begun = campaign.begin(FileLock::Wait::yes); !begun)
    return fail(begun.error(), campaign.silent_since() ? kSchedulerUnreachable : kError);
  const auto due = to_submit(campaign, target, retry);
  campaign.clear_stop_files(due);
  if (auto status = campaign.check_budget(due); !status) return fail(status.error(), kOverBudget);
  if (retry)
    if (auto status = campaign.forget_failures(due); !status) return fail(status.error(), kError);
  follow::Submitter submitter(campaign);
  const auto status = submitter.submit(due);
  campaign.end();
  const auto& handed = submitter.handed();
  std::fprintf(stderr, "%s submitted as %s\n", tables::plural(handed.runs, "run").c_str(),
               tables::plural(handed.jobs, "job").c_str());
  if (!status) return fail(status.error(), handed.silent ? kSchedulerUnreachable : kError);
  return handed.refused > 0 ? kRunsFailed : kOk;
}

// Looks, asks and submits. Nothing is locked while a user thinks.
int submit_again(Campaign& campaign, const Target& target, const FollowArguments& arguments,
                 bool retry) {
  // What an interrupted submission came to must be known before anyone is asked.
  if (auto begun = campaign.begin(FileLock::Wait::yes); !begun)
    return fail(begun.error(), campaign.silent_since() ? kSchedulerUnreachable : kError);
  campaign.settle_lost();
  campaign.end();
  const auto due = to_submit(campaign, target, retry);
  if (due.empty()) {
    note(target.experiment + ": nothing is to be submitted\n");
    return kOk;
  }
  if (auto status = campaign.check_budget(due); !status) return fail(status.error(), kOverBudget);
  if (const int code = build_trainers(local_backends(campaign, due)); code != kOk) return code;
  double hours = 0;
  for (const auto place : due) hours += campaign.gpu_hours_left(place);
  const auto question =
      fmt::format("submit {} of {}, up to {} GPU-hours?", tables::plural(due.size(), "run"),
                  target.experiment, tables::significant(hours));
  if (!arguments.yes && !confirm(question)) return kUsage;
  return submit_now(campaign, target, retry);
}

// All targets are submitted before any is followed.
int again_command(const FollowArguments& arguments, bool retry) {
  const int submitted =
      for_targets(arguments, [&](Session&, Campaign& campaign, const Target& target) {
        return submit_again(campaign, target, arguments, retry);
      });
  if (arguments.detach || (submitted != kOk && submitted != kRunsFailed)) return submitted;
  const int followed = for_targets(
      arguments, [&](Session& session, Campaign& campaign, const Target& target) -> int {
        campaign.refresh();
        const bool open =
            std::any_of(campaign.runs().begin(), campaign.runs().end(), follow::is_open);
        if (!open) return code_of(standings(campaign, target));
        return follow_and_report(session, campaign, target, arguments.common, true);
      });
  return std::max(submitted, followed);
}

}  // namespace

namespace {

// What was measured beside what was estimated; and a line for each run that did not get so far.
std::string final_text(const tables::Standings& standings, const tables::Screen& screen) {
  auto rest = standings;
  std::erase_if(rest.runs, [](const tables::RunStatus& run) {
    return run.outcome.verdict.state == record::State::finished &&
           run.outcome.measured.step_seconds;
  });
  const auto measured = tables::measured_table(standings, screen);
  std::string out;
  if (!measured.empty()) out += measured;
  if (!rest.runs.empty()) out += (out.empty() ? "" : "\n") + tables::status_table(rest, screen, 20);
  return out + "\n" + tables::wrap(tables::status_summary(standings), screen);
}

}  // namespace

int follow_and_report(Session& session, Campaign& campaign, const Target& target,
                      const Common& common, bool carry_on) {
  const auto now = [&] { return standings(campaign, target); };
  bool ended = true;
  {
    Live live(common.screen);
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
    note(fmt::format("left; the jobs go on. orch watch {0} comes back, orch cancel {0} ends them\n",
                     campaign.experiment().name));
    return kInterrupted;
  }
  if (common.format == "table") print(final_text(last, common.screen));
  return code_of(last);
}

int status_command(const FollowArguments& arguments) {
  std::vector<tables::Standings> all;
  const int code =
      for_targets(arguments, [&](Session&, Campaign& campaign, const Target& target) -> int {
        campaign.refresh();
        const bool trouble = tell_troubles(campaign);
        mention_index(campaign);
        all.push_back(standings(campaign, target));
        return std::max<int>(trouble ? kError : kOk, code_of(all.back()));
      });
  const bool for_programs = arguments.common.format == "json" || arguments.common.format == "csv";
  if (!all.empty() || (for_programs && code != kUsage)) print(text_of(all, arguments));
  return code;
}

namespace {

std::vector<std::size_t> to_cancel(const Campaign& campaign, const Target& target) {
  std::vector<std::size_t> out;
  for (const auto place : places(campaign, target))
    if (follow::is_open(campaign.runs()[place]) || campaign.is_due(place)) out.push_back(place);
  return out;
}

}  // namespace

int watch_command(const FollowArguments& arguments) {
  std::vector<std::string> under_way;
  if (arguments.targets.empty())
    for_targets(arguments, [&](Session&, Campaign& campaign, const Target& target) -> int {
      campaign.refresh();
      if (!to_cancel(campaign, target).empty()) under_way.push_back(target.experiment);
      return kOk;
    });
  if (under_way.size() > 1)
    return fail(Error{"orch watch", "several experiments are under way",
                      "name one of them: " + join(under_way, ", ")},
                kUsage);
  return for_targets(
      arguments, [&](Session& session, Campaign& campaign, const Target& target) -> int {
        mention_index(campaign);
        return follow_and_report(session, campaign, target, arguments.common, !arguments.look_only);
      });
}

int resume_command(const FollowArguments& arguments) { return again_command(arguments, false); }

int retry_command(const FollowArguments& arguments) { return again_command(arguments, true); }

int cancel_command(const FollowArguments& arguments) {
  return for_targets(arguments, [&](Session&, Campaign& campaign, const Target& target) -> int {
    if (auto status = store::check_owner(campaign.folder()); !status)
      return fail(status.error(), kError);
    campaign.refresh();
    const auto asked = to_cancel(campaign, target);
    if (asked.empty()) {
      note(target.experiment + ": nothing to cancel\n");
      return kOk;
    }
    const auto question =
        fmt::format("cancel {} of {}{}?", tables::plural(asked.size(), "run"), target.experiment,
                    arguments.stop ? " after their next checkpoint" : "");
    if (!arguments.yes && !confirm(question)) return kUsage;
    if (auto begun = campaign.begin(FileLock::Wait::yes); !begun)
      return fail(begun.error(), kError);
    const auto open = to_cancel(campaign, target);
    const auto status = arguments.stop ? campaign.ask_to_stop(open) : campaign.cancel(open);
    if (!status) return fail(status.error(), kError);
    std::fprintf(stderr, "%s %s\n", tables::plural(open.size(), "run").c_str(),
                 arguments.stop ? "will stop after their next checkpoint" : "cancelled");
    return kOk;
  });
}

int index_command(const FollowArguments& arguments) {
  Errors damaged;
  const auto count = store::rebuild_index(arguments.runs, &damaged);
  if (!count) return fail(count.error(), kError);
  print(fmt::format("{} runs in {}\n", *count,
                    printable((fs::path(arguments.runs) / "index.jsonl").string())));
  return damaged.empty() ? kOk : fail(damaged, kError);
}

}  // namespace orch::cli
