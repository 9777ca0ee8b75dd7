#include "core/run/launch/local/machine_load.h"

#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <sstream>

#include "core/base/number.h"
#include "core/base/text.h"
#include "core/run/launch/local/local_machine.h"

namespace orch::launch {
namespace {

// The first look is early, so that short runs get one; nvidia-smi takes a while.
constexpr double kFirstLook = 0.1, kFirstOfGpus = 2, kLooks = 10;
constexpr double kMostLooks = 200;     // per doubling of the time, roughly: hundreds in days
constexpr double kLeastSeconds = 0.2;  // in less time the ticks of /proc/stat are too coarse
constexpr double kAnswerSeconds = 5;   // time limit for nvidia-smi
constexpr double kMoment = 0.7;        // between two looks at GPUs that seem to be in use
constexpr double kWaitsAfter = 6;      // times as long as a look took, until the next one
constexpr int kAgain = 3;              // number of repeated looks

double seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
}

// CPU time of the supervisor, and of all its descendants that were waited for.
double own_seconds() {
  double sum = 0;
  for (const auto whose : {RUSAGE_SELF, RUSAGE_CHILDREN})
    if (rusage used = {}; ::getrusage(whose, &used) == 0)
      sum += seconds(used.ru_utime) + seconds(used.ru_stime);
  return sum;
}

std::optional<double> mean(const std::vector<double>& values) {
  if (values.empty()) return std::nullopt;
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

}  // namespace

std::optional<double> clock_of_cores(const std::string& cpuinfo) {
  std::vector<double> found;
  for (const auto& line : split(cpuinfo, '\n')) {
    const auto colon = line.find(':');
    if (!line.starts_with("cpu MHz") || colon == std::string::npos) continue;
    if (const auto mhz = number_from<double>(trim(std::string_view(line).substr(colon + 1))))
      found.push_back(*mhz);
  }
  return mean(found);
}

std::optional<double> used_seconds(const std::string& proc_stat, const std::vector<int>& cores) {
  // cpu0 user nice system idle iowait irq softirq steal guest guest_nice; user already includes
  // guest.
  constexpr std::size_t kIdle = 3, kWaits = 4, kCounts = 8;
  std::map<int, double> ticks;
  std::istringstream lines(proc_stat);
  for (std::string line; std::getline(lines, line) && line.starts_with("cpu");) {
    std::istringstream words(line.substr(3));
    int core = -1;
    if (line[3] == ' ' || !(words >> core)) continue;
    double sum = 0, count = 0;
    for (std::size_t i = 0; i < kCounts && words >> count; ++i)
      if (i != kIdle && i != kWaits) sum += count;
    ticks[core] = sum;
  }
  double sum = 0;
  for (const int core : cores) {
    if (!ticks.contains(core)) return std::nullopt;
    sum += ticks[core];
  }
  if (cores.empty()) return std::nullopt;
  return sum / static_cast<double>(::sysconf(_SC_CLK_TCK));
}

MachineLoad::MachineLoad(Shell& shell, Clock& clock, std::string gpus)
    : shell_(shell), clock_(clock), gpus_(std::move(gpus)), cores_(usable_cores()) {
  if (!gpus_.empty()) gpu_share_ = use_by_others();
  start_ = sample();
  next_look_ = start_.steady + (gpus_.empty() ? kFirstLook : kFirstOfGpus);
}

MachineLoad::Sample MachineLoad::sample() const {
  const auto text = read_file("/proc/stat");
  return {text ? used_seconds(*text, cores_) : std::nullopt, own_seconds(), clock_.steady()};
}

std::string MachineLoad::look() {
  const double now = clock_.steady();
  if (now < next_look_) return "";
  const double pause = std::max(kLooks, (now - start_.steady) / kMostLooks);
  next_look_ = now + pause;
  if (gpus_.empty()) {
    const auto text = read_file("/proc/cpuinfo");
    if (const auto clock = clock_of_cores(text ? *text : "")) clocks_.push_back(*clock);
    return "";
  }
  const auto gpus = ask_gpus();
  // A driver that hangs must not keep the supervisor from its ranks.
  next_look_ = clock_.steady() + std::max(pause, kWaitsAfter * (clock_.steady() - now));
  if (gpus.clock) clocks_.push_back(*gpus.clock);
  if (!gpus.share && !gpus.watts) return "";
  auto out = fmt::format(R"({{"event":"gpus","time":{:.3f})", clock_.now());
  if (gpus.share) out += fmt::format(R"(,"use":{:.3f})", *gpus.share);
  if (gpus.watts) out += fmt::format(R"(,"watts":{:.1f},"gpus":{})", *gpus.watts, gpus.count);
  return out + "}\n";
}

MachineLoad::Gpus MachineLoad::ask_gpus() const {
  Command command{{"nvidia-smi", "--query-gpu=utilization.gpu,clocks.sm,power.draw",
                   "--format=csv,noheader,nounits", "-i", gpus_}};
  command.timeout_seconds = kAnswerSeconds;
  const auto answer = shell_.run(command);
  if (!answer || answer->code != 0) return {};
  std::vector<double> shares, clocks, watts;
  for (const auto& line : split(trim(answer->out), '\n')) {
    const auto words = split(line, ',');
    if (words.size() != 3) continue;
    if (const auto percent = number_from<double>(trim(words[0]))) shares.push_back(*percent / 100);
    if (const auto mhz = number_from<double>(trim(words[1]))) clocks.push_back(*mhz);
    if (const auto power = number_from<double>(trim(words[2]))) watts.push_back(*power);
  }
  return {mean(shares), mean(clocks), mean(watts), watts.size()};
}

// nvidia-smi averages over the last second: a run that ended just before may still be included.
std::optional<double> MachineLoad::use_by_others() const {
  auto least = ask_gpus().share;
  for (int i = 0; i < kAgain && least && *least > 0; ++i) {
    clock_.sleep(kMoment);
    if (const auto share = ask_gpus().share) least = std::min(*least, *share);
  }
  return least;
}

std::optional<double> MachineLoad::others_share() const {
  if (!gpus_.empty()) return gpu_share_;
  const auto end = sample();
  const double elapsed = end.steady - start_.steady;
  if (!end.used || !start_.used || elapsed < kLeastSeconds) return std::nullopt;
  const double others = (*end.used - *start_.used) - (end.own - start_.own);
  return std::clamp(others / elapsed / static_cast<double>(cores_.size()), 0.0, 1.0);
}

std::string MachineLoad::event() const {
  const auto share = others_share(), clock = mean(clocks_);
  if (!share && !clock) return "";
  auto out = fmt::format(R"({{"event":"machine","time":{:.3f})", clock_.now());
  if (share) out += fmt::format(R"(,"others_share":{:.3f})", *share);
  if (clock) out += fmt::format(R"(,"clock_mhz":{:.0f})", *clock);
  return out + "}\n";
}

}  // namespace orch::launch
