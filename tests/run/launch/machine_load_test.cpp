#include "core/run/launch/local/machine_load.h"

#include <nlohmann/json.hpp>

#include "core/run/launch/local/local_machine.h"
#include "tests/run/launch/fake_shell.h"
#include "tests/run/launch/local_fixture.h"
#include "tests/test.h"

namespace orch::launch {
namespace {

using nlohmann::json;

TEST_CASE("used time is that of the cores asked for, without idling and waiting",
          "[launch][local]") {
  const std::string stat =
      "cpu  111 22 333 4444 55 66 77 8 90 9\n"
      "cpu0 100 20 300 4000 50 60 70 5 80 9\n"  // guests (80 and 9) are in the first two
      "cpu1 11 2 33 444 5 6 7 3 10 0\n"
      "cpu10 1 1 1 1 1 1 1 1 0 0\n"
      "intr 12345\n";
  const auto ticks = static_cast<double>(::sysconf(_SC_CLK_TCK));
  CHECK(used_seconds(stat, {0}) == (100 + 20 + 300 + 60 + 70 + 5) / ticks);
  CHECK(used_seconds(stat, {0, 1, 10}) == (555 + 62 + 6) / ticks);
  CHECK_FALSE(used_seconds(stat, {2}));  // switched off meanwhile
  CHECK_FALSE(used_seconds(stat, {}));
  CHECK_FALSE(used_seconds("", {0}));
}

TEST_CASE("the clock of cores is the mean of what the kernel says", "[launch][local]") {
  CHECK(clock_of_cores(
            "processor\t: 0\ncpu MHz\t\t: 2900.000\n\nprocessor\t: 1\ncpu MHz\t\t: 3100.500\n") ==
        3000.25);
  CHECK_FALSE(clock_of_cores("processor\t: 0\nBogoMIPS\t: 243.75\n"));  // ARM
  CHECK_FALSE(clock_of_cores("cpu MHz\t\t: unknown\n"));
}

TEST_CASE("GPUs are asked for their use before a run, and for their clock during it",
          "[launch][local]") {
  FakeShell shell;
  FakeClock clock;
  // Right after another run: its use is still in the mean, and that of other programs stays.
  for (const auto* use : {"90, 1900, 600\n50, 1900, 600\n", "60, 210, 70\n60, 210, 70\n",
                          "20, 210, 70\n40, 210, 70\n", "30, 210, 70\n40, 210, 70\n"})
    shell.once("nvidia-smi", {0, use, ""});
  MachineLoad load(shell, clock, "2,3");
  CHECK(shell.commands.at(0).argv ==
        std::vector<std::string>{"nvidia-smi", "--query-gpu=utilization.gpu,clocks.sm,power.draw",
                                 "--format=csv,noheader,nounits", "-i", "2,3"});
  CHECK(load.look().empty());
  CHECK(shell.commands.size() == 4);  // not at once
  shell.once("nvidia-smi", {0, "100, 1700, 500.5\n90, 1900, 699.5\n", ""});
  shell.once("nvidia-smi", {0, "100, [N/A], [N/A]\n100, 1500, [N/A]\n", ""});
  clock.time += 10;
  const auto gpus = json::parse(load.look());
  CHECK(gpus["event"] == "gpus");
  CHECK(gpus["time"].get<double>() == Catch::Approx(clock.now()).epsilon(0).margin(1e-3));
  CHECK(gpus["use"] == 0.95);
  CHECK(gpus["watts"] == 600);
  CHECK(gpus["gpus"] == 2);
  CHECK(load.look().empty());
  clock.time += 10;
  CHECK_FALSE(json::parse(load.look()).contains("watts"));
  CHECK(shell.commands.size() == 6);
  const auto event = json::parse(load.event());
  CHECK(event["event"] == "machine");
  CHECK(event["time"].get<double>() == Catch::Approx(clock.now()).epsilon(0).margin(1e-3));
  CHECK(event["others_share"] == Catch::Approx(0.3));
  CHECK(event["clock_mhz"] == 1650);
}

TEST_CASE("a GPU that is idle is asked once", "[launch][local]") {
  FakeShell shell;
  FakeClock clock;
  shell.once("nvidia-smi", {0, "0, 210, 70\n", ""});
  MachineLoad load(shell, clock, "0");
  CHECK(shell.commands.size() == 1);
  CHECK(json::parse(load.event())["others_share"] == 0);
}

TEST_CASE("GPUs are asked less often the longer a run takes", "[launch][local]") {
  FakeShell shell;
  FakeClock clock;
  shell.always("nvidia-smi", {0, "0, 210, 70\n", ""});
  MachineLoad load(shell, clock, "0");
  std::size_t lines = 0;
  for (int i = 0; i < 3 * 86400; ++i) {
    clock.time += 1;
    lines += load.look().empty() ? 0 : 1;
  }
  // 200 in the first 2,000 s, then 200 in each factor of e: 259,200 s are 200 + 200 ln(129.6).
  CHECK(lines > 1000);
  CHECK(lines < 1250);
}

TEST_CASE("a driver that hangs is asked again only after a pause", "[launch][local]") {
  FakeShell shell;
  FakeClock clock;
  shell.always("nvidia-smi", {0, "0, 210, 70\n", ""});
  MachineLoad load(shell, clock, "0");
  shell.during = [&](const Command&) { clock.time += 17; };
  const double begin = clock.time;
  const auto before = shell.commands.size();
  while (clock.time < begin + 3600) {
    clock.time += 0.1;
    load.look();
  }
  // Each look takes 17 s, and is followed by six times as long without one.
  const auto looks = static_cast<double>(shell.commands.size() - before);
  CHECK(looks == Catch::Approx(3600 / (17 * 7.0)).margin(2));
}

TEST_CASE("a machine that does not answer leaves no event", "[launch][local]") {
  FakeShell shell;  // without nvidia-smi
  FakeClock clock;
  MachineLoad load(shell, clock, "0");
  clock.time += 10;
  load.look();
  CHECK(load.event().empty());
}

TEST_CASE("a local run tells how much of the machine others used, and not its own work",
          "[launch][local]") {
  test::LocalExperiment experiment;
  // It computes for 0.3 s, writes an incomplete line at the end, and reports how many ticks that
  // took.
  const auto run = experiment.add_run("a", R"bash(
    until=$((${EPOCHREALTIME/./} + 300000))
    while ((${EPOCHREALTIME/./} < until)); do :; done
    read -r -a stat </proc/$$/stat
    echo "$((stat[13] + stat[14]))" >"$attempt/ticks"
    printf '{"event":"step","step":1}\n{"event":"st' >"$attempt/events.jsonl"
    finish)bash");
  experiment.add_run("b", "finish");  // whose trainer writes no events
  const auto cores = usable_cores();
  const auto used = [&] { return used_seconds(test::slurp("/proc/stat"), cores).value(); };
  const double before = used();
  experiment.submit("0001-s", {"a", "b"});
  experiment.wait("0001-s", 0);
  const double all = used() - before;
  const auto lines = test::lines(run / "attempts/1/events.jsonl");
  REQUIRE(lines.size() == 3);
  const auto event = json::parse(lines.back());
  CHECK(event["event"] == "machine");
  CHECK(event["time"] > 1.7e9);
  if (event.contains("clock_mhz")) CHECK(event["clock_mhz"] > 100);  // not on every processor
  const double share = event["others_share"];
  CHECK(share >= 0);
  CHECK(share <= 1);
  const double own = std::stod(test::slurp(run / "attempts/1/ticks")) /
                     static_cast<double>(::sysconf(_SC_CLK_TCK));
  const double others = share * 0.3 * static_cast<double>(cores.size());  // at least
  CHECK(others <= all - own + 0.05);
  experiment.wait("0001-s", 1);
  CHECK_FALSE(fs::exists(experiment.folder() / "b/attempts/1/events.jsonl"));
}

}  // namespace
}  // namespace orch::launch
