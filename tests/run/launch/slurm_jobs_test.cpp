#include "core/run/launch/slurm/slurm_jobs.h"

#include <ctime>

#include "tests/test.h"

using namespace orch::launch;

TEST_CASE("squeue's lines become facts", "[launch][slurm]") {
  // As printed by 22.05.8.
  const auto rows = parse_queue(
      "94|0|CANCELLED|15|0|1794729617|1794729619|0:02|v100-1|1|None|cpu=1,node=1|gres:gpu:2|orch:"
      "9\n"
      "94|3|PENDING|0|0|1794999999|1794999999|0:00||1|JobArrayTaskLimit|cpu=1|gres:gpu:2|orch:9\n"
      "94|2|RUNNING|0|0|1794729619|1795089619|1:00:00|v100-[2-3]|2|None|cpu=1|gres:gpu:2|orch:9\n"
      "3|N/A|FAILED|512|1|1794729257|1794729258|0:01|v100-1|1|NonZeroExitCode|cpu=1|N/A|orch:8\n"
      "98|N/A|CANCELLED|0|0|N/A|N/A|0:00||1|JobHeldUser|cpu=1|N/A|(null)\n"
      "rubbish\n\n"
      "5|4-6|CANCELLED|0|0|N/A|N/A|0:00||1|None|cpu=1|N/A|orch:7|with|bars\n",
      "orch:");
  REQUIRE(rows.size() == 7);
  CHECK(rows[0].job == "94");
  CHECK(rows[0].task == 0u);
  CHECK(rows[0].marks == "orch:9");
  CHECK(rows[0].fact.job == "94_0");
  CHECK(rows[0].fact.state == "CANCELLED");
  CHECK(rows[0].fact.reason.empty());
  CHECK(rows[0].fact.exit_code == 143);
  CHECK(rows[0].fact.start == 1794729617);
  CHECK(rows[0].fact.end == 1794729619);
  // The scheduler's expectations are ignored.
  CHECK(rows[1].fact.start == 0);
  CHECK(rows[1].fact.end == 0);
  CHECK(rows[1].fact.reason == "JobArrayTaskLimit");
  CHECK_FALSE(rows[1].fact.exit_code.has_value());
  CHECK(rows[2].fact.end == 0);
  CHECK(rows[2].fact.nodes == "v100-[2-3]");
  CHECK(rows[2].fact.elapsed_seconds == 3600);
  CHECK(rows[2].fact.gpu_hours == 4);
  CHECK(rows[3].fact.job == "3");
  CHECK_FALSE(rows[3].task.has_value());
  CHECK(rows[3].fact.exit_code == 2);
  CHECK(rows[3].fact.gpu_hours == 0);
  CHECK(rows[4].fact.job == "5_4");
  CHECK(rows[6].fact.job == "5_6");
  CHECK(rows[6].marks == "orch:7|with|bars");
}

namespace {
// Fields joined as sacct joins them.
std::string line(std::initializer_list<std::string> fields) {
  std::string text;
  for (const auto& field : fields) text += (text.empty() ? "" : "\x1f") + field;
  return text + "\n";
}
}  // namespace

TEST_CASE("sacct's lines become facts, steps folded into their job", "[launch][slurm]") {
  const auto gpus = "billing=8,cpu=8,gres/gpu:a100=4,gres/gpu=4,node=1";
  const auto rows = parse_accounting(
      line({"7_0", "NODE_FAIL", "1:0", "100", "1900", "1800", gpus, "a1", "None", "n", "",
            "sbatch"}) +
      line({"7_0", "OUT_OF_MEMORY", "0:125", "2000", "5600", "3600", gpus, "a2", "None", "n", "",
            "sbatch --comment=orch:0001-ab x\n and more"}) +
      line(
          {"7_0.batch", "FAILED", "1:0", "2000", "5600", "3600", gpus, "a2", "", "batch", "", ""}) +
      line({"7_1", "COMPLETED", "0:0", "2000", "5600", "3600", "cpu=8", "a2", "BeginTime", "n",
            "orch:1", ""}) +
      line({"7_1.0", "OUT_OF_MEMORY", "0:9", "2000", "5600", "3600", "", "a2", "", "t", "",
            "srun"}) +
      line({"8", "CANCELLED by 1000", "0:15", "Unknown", "Unknown", "0", "", "None assigned", "",
            "n", "", ""}) +
      line({"9_[2-3%1]", "PENDING", "0:0", "Unknown", "Unknown", "0", "", "", "", "n", "", ""}) +
      line({"10+0", "RUNNING", "0:0", "1", "2", "0", "", "", "", "n", "", ""}));
  REQUIRE(rows.size() == 6);
  CHECK(rows[0].fact.state == "NODE_FAIL");
  CHECK(rows[0].fact.gpu_hours == 2);
  CHECK_FALSE(rows[0].fact.out_of_memory);
  CHECK(rows[1].fact.gpu_hours == 4);
  CHECK(rows[1].fact.out_of_memory);
  CHECK(rows[1].fact.exit_code == 128 + 125);
  CHECK(rows[1].marks.find("orch:0001-ab") != std::string::npos);
  CHECK(rows[2].fact.state == "COMPLETED");
  CHECK(rows[2].fact.out_of_memory);
  CHECK(rows[2].fact.job == "7_1");
  CHECK(rows[2].fact.reason.empty());
  CHECK(rows[3].fact.state == "CANCELLED");
  CHECK(rows[3].fact.start == 0);
  CHECK(rows[3].fact.nodes.empty());
  CHECK(rows[4].task == 2u);
  CHECK(rows[5].fact.job == "9_3");
}

TEST_CASE("an id counts only as a whole", "[launch][slurm]") {
  CHECK(carries("\nname\nsbatch --comment=orch:0007-ab --export=ALL", "0007-ab"));
  CHECK(carries("orch:0007-ab\n\n", "0007-ab"));
  CHECK(carries("orch:0007-abc 0007-ab", "0007-ab"));
  CHECK_FALSE(carries("orch:10007-ab\norch:0007-abc", "0007-ab"));
  CHECK_FALSE(carries("", "0007-ab"));
}

TEST_CASE("SLURM's ways to write a moment", "[launch][slurm]") {
  CHECK(parse_slurm_moment("1794729257") == 1794729257);
  CHECK(parse_slurm_moment("N/A") == 0);
  CHECK(parse_slurm_moment("Unknown") == 0);
  std::tm noon{};
  noon.tm_year = 126, noon.tm_mon = 6, noon.tm_mday = 1, noon.tm_hour = 12, noon.tm_isdst = -1;
  CHECK(parse_slurm_moment("2026-07-01T12:00:00") == static_cast<double>(std::mktime(&noon)));
}

TEST_CASE("lists of tasks, and GPUs among resources", "[launch][slurm]") {
  using Tasks = std::vector<std::size_t>;
  CHECK(parse_tasks("0-2,5,7-11:2%4") == Tasks{0, 1, 2, 5, 7, 9, 11});
  CHECK(parse_tasks("7") == Tasks{7});
  for (const auto* wrong : {"", "x", "3-1", "1-5:0", "0-99999999999", "1,,2", "1-"})
    CHECK(parse_tasks(wrong).empty());

  CHECK(gpus_in("cpu=8,gres/gpu=4,gres/gpu:a100=4") == 4);
  CHECK(gpus_in("gres/gpu:a100=4,gres/gpu:h100=2") == 6);
  CHECK(gpus_in("gres:gpu:2") == 2);
  CHECK(gpus_in("gres:gpu:a100:8") == 8);
  CHECK(gpus_in("gres/gpu:8") == 8);
  CHECK(gpus_in("N/A") == 0);
}
