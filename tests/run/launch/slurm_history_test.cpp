#include "core/run/launch/slurm/slurm_history.h"

#include "tests/test.h"

using namespace orch;
using namespace orch::launch;

namespace {

const std::string kHeader =
    "JobID|JobIDRaw|Partition|State|Submit|Eligible|Start|End|NNodes|AllocTRES\n";

JobHistory parsed(const std::string& text) {
  auto out = parse_job_history(text, "sacct.txt");
  if (!out) FAIL(orch::text(out.error()));
  return *out;
}

std::string complaint(const std::string& text) {
  const auto out = parse_job_history(text, "sacct.txt");
  return out ? "" : orch::text(out.error());
}

}  // namespace

TEST_CASE("sacct's history: each start of each job", "[launch][slurm][history]") {
  const auto history =
      parsed(kHeader +
             "1|1|gpu|COMPLETED|100|150|200|3800|2|billing=4,cpu=16,gres/gpu:a100=16,gres/gpu=16\n"
             "1.batch|1.batch||COMPLETED|200|200|200|3800|1|cpu=8,gres/gpu=8\n"
             "1.0|1.0||COMPLETED|200|200|200|3800|2|cpu=16,gres/gpu=16\r\n"
             "2_0|12|gpu|NODE_FAIL|100|100|1000|4600|1|gres/gpu=8\n"  // and again after a requeue
             "2_0|12|gpu|COMPLETED|4600|4720|4800|8400|1|gres/gpu=8\n"
             "2_1|13|gpu|CANCELLED by 1000|100|100|Unknown|900|1|\n"
             "2_[2-9%1]|2|gpu|PENDING|100|100|99000|Unknown|1|\n"  // its start is only expected
             "3|3|gpu|RUNNING|100|Unknown|5000|Unknown|1|gres/gpu=8\n"
             "\n"
             "half a line\n" +
             kHeader + "2_0|12|gpu|NODE_FAIL|100|100|1000|4600|1|gres/gpu=8\n");
  REQUIRE(history.jobs.size() == 6);
  CHECK(history.steps == 2);
  CHECK(history.unreadable == 1);
  CHECK(history.repeated == 1);
  CHECK(history.tells_gpus());
  const auto& first = history.jobs[0];
  CHECK(first.hours() == 1);
  CHECK(first.gpus == 16);
  CHECK(first.nodes == 2);
  CHECK(first.waiting == 150);
  CHECK(history.jobs[1].state == "NODE_FAIL");
  CHECK(history.jobs[1].job == "2_0");
  CHECK(history.jobs[1].raw == "12");
  CHECK(history.jobs[2].state == "COMPLETED");
  CHECK(history.jobs[2].start == 4800);
  CHECK(history.jobs[3].state == "CANCELLED");
  CHECK(history.jobs[3].hours() == 0);
  CHECK(history.jobs[4].start == 0);
  // Up to the last moment in the text, 8400; its wait is that of its submission.
  CHECK_FALSE(history.jobs[5].ended);
  CHECK(history.jobs[5].hours() == 3400. / 3600);
  CHECK(history.jobs[5].waiting == 100);
}

TEST_CASE("a job that runs counts up to the last moment that is past", "[launch][slurm][history]") {
  const auto history = parsed(kHeader +
                              "1|1|gpu|RUNNING|100|100|200|Unknown|1|gres/gpu=8\n"
                              "2|2|gpu|COMPLETED|100|100|300|3800|1|gres/gpu=8\n"
                              "3|3|gpu|PENDING|5000|9000000|Unknown|Unknown|1|\n");
  CHECK(history.jobs.front().end == 5000);
}

TEST_CASE("what two texts know of one job counts once", "[launch][slurm][history]") {
  auto may = parsed(kHeader +
                    "7|7|gpu|RUNNING|100|100|1000|Unknown|1|gres/gpu=8\n"
                    "8|8|gpu|COMPLETED|100|100|1000|4600|1|gres/gpu=8\n");
  const auto june = parsed(kHeader +
                           "7|7|gpu|NODE_FAIL|100|100|1000|11800|1|gres/gpu=8\n"
                           "8|8|gpu|COMPLETED|100|100|1000|4600|1|gres/gpu=8\n");
  may.add(june);
  REQUIRE(may.jobs.size() == 2);
  CHECK(may.jobs[0].state == "NODE_FAIL");
  CHECK(may.jobs[0].hours() == 3);
  CHECK(may.repeated == 2);
}

TEST_CASE("columns in any order, and GPUs by nodes", "[launch][slurm][history]") {
  const auto history = parsed(
      "End|State|jobid|NNodes|Start|Submit|JobName\n"
      "2026-01-02T00:00:00|COMPLETED|5|4|2026-01-01T00:00:00|2025-12-31T23:00:00|x\n");
  REQUIRE(history.jobs.size() == 1);
  CHECK(history.jobs[0].hours() == 24);
  CHECK(history.jobs[0].nodes == 4);
  CHECK(history.jobs[0].start - history.jobs[0].waiting == 3600);
  CHECK_FALSE(history.tells_gpus());
}

TEST_CASE("numbers that no machine has count as unknown", "[launch][slurm][history]") {
  const auto history =
      parsed(kHeader +
             "1|1|gpu|COMPLETED|1|1|-5|1e300|9000000000000000000|gres/gpu=9000000000000000000\n"
             "2|2|gpu|COMPLETED|nan|inf|100|50|-1|gres/gpu=-8\n");
  REQUIRE(history.jobs.size() == 2);
  for (const auto& job : history.jobs) {
    CHECK(job.hours() == 0);
    CHECK(job.nodes == 0);
    CHECK(job.gpus == 0);
  }
}

TEST_CASE("a missing column is named, with the command that has it", "[launch][slurm][history]") {
  const auto said = complaint("JobID|State|Start\n1|COMPLETED|5\n");
  CHECK(said.find("sacct.txt: no column End, Eligible (or Submit) and AllocTRES (or NNodes)") == 0);
  CHECK(said.find("SLURM_TIME_FORMAT=%s sacct -P -X -D -a --starttime") != std::string::npos);
  CHECK(complaint("id,gpus\n1,2\n").find("not the header of sacct -P") != std::string::npos);
  CHECK(complaint("").find("not the header of sacct -P") != std::string::npos);
}
