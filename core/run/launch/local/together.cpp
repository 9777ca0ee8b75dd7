#include "core/run/launch/local/together.h"

#include <fmt/format.h>

#include <algorithm>
#include <csignal>

#include "core/base/clock.h"
#include "core/base/text.h"
#include "core/run/launch/local/supervisor_environment.h"
#include "core/run/launch/local/supervisor_output.h"
#include "core/run/launch/local/supervisor_ranks.h"

namespace orch::launch {
namespace {

constexpr std::size_t kQuoted = 1000;  // characters of output in a message
constexpr int kStep = 50;              // milliseconds

std::string why_over(const LocalRanks& program, const Ranks& ranks, double seconds) {
  for (const auto& end : ranks.ended())
    if (end.code != 0) return text(end);
  if (program.interrupted && program.interrupted()) return "interrupted";
  if (seconds > program.timeout_seconds)
    return fmt::format("it did not end within {:g} s", program.timeout_seconds);
  return {};
}

Error failure(const LocalRanks& program, const std::string& why) {
  const auto log = read_file(program.folder / "output.log");
  const auto said = log ? trim(*log) : std::string_view();
  const auto end = said.substr(said.size() > kQuoted ? said.size() - kQuoted : 0);
  return {printable(program.argv.front()), why, end.empty() ? "" : "it said:\n" + std::string(end)};
}

}  // namespace

Status run_together(const LocalRanks& program) {
  RankLog log(program.folder / "output.log");
  Ranks ranks(log);
  RankCommand command{program.argv, machine_environment(program.ranks), {}, program.folder};
  meet_here(program.ranks, command.environment);
  if (auto status = ranks.start(spread(command, program.ranks)); !status) return status;
  const SystemClock clock;
  const double start = clock.steady();
  while (ranks.running()) {
    ranks.step(-1, kStep);
    const auto why = why_over(program, ranks, clock.steady() - start);
    if (why.empty()) continue;
    ranks.signal(SIGKILL);
    while (ranks.running()) ranks.step(-1, kStep);
    ranks.clean_up();
    return failure(program, why);
  }
  return {};
}

}  // namespace orch::launch
