#include <fmt/format.h>

#include <algorithm>
#include <sstream>

#include "core/base/text.h"
#include "core/run/launch/inspect.h"

namespace orch::launch {
namespace {

// Runs once per node, with the attempt's folder and "rank:pid" pairs of the recordings as
// arguments. Prints lines "orch-probe RANK PID HOST KEY VALUE". The script is constant: user input
// is only in $1 and $2.
constexpr auto kScript = R"bash(
attempt=$1 wanted=" $2 " host=${SLURMD_NODENAME:-${HOSTNAME:-localhost}}
cd /proc || exit 1
ticks=$(getconf CLK_TCK) page=$(getconf PAGESIZE)
declare -A rank_of chosen
note_rank() {
  local entry mine= rank= node=
  while IFS= read -r -d '' entry; do
    case $entry in
      "ORCH_ATTEMPT_FOLDER=$attempt") mine=yes ;;
      RANK=*) rank=${entry#RANK=} ;;
      SLURMD_NODENAME=*) node=${entry#*=} ;; # several nodes of a test may be one machine
    esac
  done <"$1/environ"
  if [ "$node" != "${SLURMD_NODENAME:-$node}" ]; then return; fi
  if [ "$mine" ] && [[ $rank =~ ^[0-9]{1,7}$ ]]; then rank_of[$1]=$rank; fi
}
read_stat() { # PID: its fields from the state on; fails where it has ended
  local line=
  IFS= read -r -d '' line <"$1/stat"
  read -r -a fields <<<"${line##*) }"
  [ "$line" ]
}
# Of a rank's processes, the one that keeps the recording; else the one that started the others.
choose() {
  local pid=$1 rank=${rank_of[$1]}
  if [[ $wanted == *" $rank:$pid "* ]]; then chosen[$rank]=$pid; return; fi
  if [ "${chosen[$rank]}" ]; then return; fi
  if read_stat "$pid" && [ "${rank_of[${fields[1]}]}" != "$rank" ]; then chosen[$rank]=$pid; fi
}
take_stack() { # PID: sets from and stack
  from= stack=
  if command -v eu-stack >/dev/null; then
    stack=$(timeout -k 2 20 eu-stack -p "$1" </dev/null 2>&1 | head -n 400) from=eu-stack
  elif command -v gdb >/dev/null; then
    stack=$(DEBUGINFOD_URLS= timeout -k 2 20 gdb -nx -batch -ex 'set pagination off' \
      -ex 'backtrace 60' -ex 'thread apply all backtrace 20' -p "$1" </dev/null 2>&1 |
      head -n 400) from=gdb
  fi
  if [[ $'\n'$stack == *$'\n#'* ]]; then return; fi
  if stack=$(cat "$1/stack" 2>/dev/null) && [ "$stack" ]; then from=kernel; else from= stack=; fi
}
report() {
  local rank=$1 pid=$2 wchan= before line
  local start="orch-probe $rank $pid $host"
  read_stat "$pid"
  before=${fields[0]}
  IFS= read -r -d '' wchan <"$pid/wchan"
  echo "$start info $before $(((fields[11] + fields[12]) / ticks)) $((fields[21] * page)) $wchan"
  take_stack "$pid"
  # A debugger that was killed may leave the process stopped.
  read_stat "$pid"
  if [[ ${fields[0]} == [Tt] && $before != [Tt] ]]; then kill -CONT "$pid"; fi
  echo "$start from $from"
  while IFS= read -r line; do echo "$start stack $line"; done <<<"$stack"
}
{
  while IFS= read -r -d '' file; do
    if [ "${file%/environ}" != $$ ]; then note_rank "${file%/environ}"; fi
  done < <(grep -lZzxF -e "ORCH_ATTEMPT_FOLDER=$attempt" [0-9]*/environ)
  for pid in "${!rank_of[@]}"; do choose "$pid"; done
  answers=$(mktemp -d) || exit 1
  trap 'rm -rf -- "$answers"' EXIT
  for rank in "${!chosen[@]}"; do report "$rank" "${chosen[$rank]}" >"$answers/$rank" & done
  wait
} 2>/dev/null
for rank in "${!chosen[@]}"; do cat "$answers/$rank"; done
exit 0
)bash";

constexpr std::size_t kMostWanted = 100'000;  // an argument of a command is limited to 128 KiB

Command probe_command(const InspectRequest& request, const std::string& attempt,
                      const std::string& wanted) {
  Command command;
  if (request.executor == "slurm") {
    command.argv = {"srun", "--jobid=" + request.job.job, "--overlap", "--ntasks-per-node=1"};
    if (request.nodes > 0) {
      command.argv.push_back(fmt::format("--nodes={}", request.nodes));
      command.argv.push_back(fmt::format("--ntasks={}", request.nodes));
    }
    command.argv.push_back("--immediate=20");
  }
  for (const auto& word : {std::string("bash"), std::string("-c"), std::string(kScript),
                           std::string("orch-probe"), attempt, wanted})
    command.argv.push_back(word);
  command.timeout_seconds = request.seconds;
  return command;
}

std::string wanted_words(const std::vector<RankReport>& ranks) {
  std::string words;
  for (const auto& report : ranks)
    if (report.recorded && words.size() <= kMostWanted)
      words += fmt::format("{}{}:{}", words.empty() ? "" : " ", report.rank, report.recorded_pid);
  return words;
}

RankReport& report_for(Inspection& inspection, int rank) {
  auto& ranks = inspection.ranks;
  const auto at = std::lower_bound(ranks.begin(), ranks.end(), rank,
                                   [](const RankReport& r, int n) { return r.rank < n; });
  if (at != ranks.end() && at->rank == rank) return *at;
  RankReport report;
  report.rank = rank;
  return *ranks.insert(at, std::move(report));
}

void read_info(std::istringstream& words, RankProcess& process) {
  words >> process.state >> process.cpu_seconds >> process.resident >> process.wchan;
  if (process.wchan == "0") process.wchan.clear();
  process.wchan = printable(process.wchan);
}

// True for frames and names of threads; the rest is a debugger's introduction.
bool is_frame(const std::string& line) {
  return line.starts_with("#") || line.starts_with("[<") || line.starts_with("Thread ") ||
         line.starts_with("TID ");
}

void read_line(const std::string& line, Inspection& inspection) {
  std::istringstream words(line);
  std::string mark, host, key;
  int rank = -1;
  int pid = 0;
  if (!(words >> mark >> rank >> pid >> host >> key) || mark != "orch-probe" || rank < 0) return;
  auto& found = report_for(inspection, rank).process;
  if (!found) found.emplace();
  auto& process = *found;
  process.host = printable(host);
  process.pid = pid;
  if (key == "info") read_info(words, process);
  if (key == "from") words >> process.stack_from;
  if (key == "stack") {
    std::string rest;
    std::getline(words >> std::ws, rest);
    if (is_frame(rest)) process.stack.push_back(printable(rest));
  }
}

void add_note(RankProcess& process) {
  if (process.stack_from == "gdb" || process.stack_from == "eu-stack") return;
  process.note =
      "no stack of the program: install elfutils (eu-stack) or gdb on the node, and allow them to "
      "look (sysctl kernel.yama.ptrace_scope=0)";
}

}  // namespace

Status probe_processes(Shell& shell, const InspectRequest& request, Inspection& inspection) {
  auto folder = request.run_folder / "attempts" / std::to_string(request.attempt);
  // A supervisor passes the canonical path to its ranks.
  std::error_code code;
  if (const auto real = fs::canonical(folder, code); request.executor == "local" && !code)
    folder = real;
  const auto wanted = wanted_words(inspection.ranks);
  const auto output = shell.run(probe_command(request, folder.string(), wanted));
  if (!output) return output.error();
  std::istringstream lines(output->out);
  for (std::string line; std::getline(lines, line);) read_line(line, inspection);
  for (auto& report : inspection.ranks)
    if (report.process) add_note(*report.process);
  if (output->timed_out)
    return Error{"inspect",
                 fmt::format("looking at the processes took more than {:.0f} s", request.seconds),
                 "try again, or log in to the nodes"};
  if (output->code != 0)
    return Error{"inspect",
                 fmt::format("cannot look at the processes: {}",
                             printable(trim(output->err).substr(0, 300))),
                 "log in to the nodes"};
  inspection.probed = true;
  return {};
}

}  // namespace orch::launch
