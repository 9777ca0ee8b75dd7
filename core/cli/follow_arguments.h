#pragma once

#include <string>
#include <vector>

#include "core/cli/commands.h"
#include "core/run/follow/options.h"

namespace orch::cli {

// What the verbs that follow runs take.
struct FollowArguments {
  Common common;
  std::vector<std::string> targets;  // experiments and runs; none: all
  std::string runs = "runs";
  std::size_t top = 20;
  follow::Options options;
  bool yes = false;        // do not ask
  bool detach = false;     // submit and leave
  bool look_only = false;  // submit nothing
  bool stop = false;       // cancel after the next checkpoint
};

struct RunArguments {
  PlanArguments plan;
  follow::Options options;
  std::size_t take = 0;  // only so many of the best; 0: all
  bool oom = false;      // also what the estimate says does not fit
  bool yes = false;
  bool detach = false;
  bool no_calibrate = false;  // take `local` as it is
};

struct LogsArguments {
  std::string run;
  std::string runs = "runs";
  bool follow = false;
  int rank = -1;      // all
  int attempt = 0;    // the last
  double lines = 50;  // of its end; 0: all
};

struct DoctorArguments {
  Common common;
  std::string runs = "runs";
};

int run_command(const RunArguments& arguments);
int status_command(const FollowArguments& arguments);
int watch_command(const FollowArguments& arguments);
int cancel_command(const FollowArguments& arguments);
int resume_command(const FollowArguments& arguments);
int retry_command(const FollowArguments& arguments);
int logs_command(const LogsArguments& arguments);
int inspect_command(const FollowArguments& arguments);
int doctor_command(const DoctorArguments& arguments);
int index_command(const FollowArguments& arguments);
int supervise_command(const std::string& submission_folder);

}  // namespace orch::cli
