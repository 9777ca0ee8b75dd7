#include "core/run/launch/slurm/slurm_reply.h"

#include <catch2/catch_test_macros.hpp>

namespace {

using orch::Output;
using orch::launch::read_reply;
using SubmitReply = orch::launch::SubmitOutcome::Reply;

SubmitReply failed(const std::string& err) { return read_reply({1, "", err}).reply; }
SubmitReply submission_failed(const std::string& why) {
  return failed("sbatch: error: Batch job submission failed: " + why + "\n");
}

}  // namespace

TEST_CASE("an id means that the job was taken", "[launch][slurm]") {
  CHECK(read_reply({0, "123\n", ""}).job == "123");
  CHECK(read_reply({0, "123;north\n", ""}).job == "123");
  CHECK(read_reply({0, "Welcome to North!\n123\n", "sbatch: hello"}).job == "123");
  CHECK(read_reply({137, "123\n", ""}).reply == SubmitReply::accepted);
  CHECK(read_reply({143, "123\n", "", true}).reply == SubmitReply::accepted);
}

TEST_CASE("without one, success proves nothing", "[launch][slurm]") {
  CHECK(read_reply({0, "", ""}).reply == SubmitReply::unclear);
  CHECK(read_reply({0, "hello\n", ""}).reply == SubmitReply::unclear);
  CHECK(read_reply({143, "", "", true}).reply == SubmitReply::unclear);
  CHECK(read_reply({137, "", ""}).reply == SubmitReply::unclear);
}

TEST_CASE("half an answer is none", "[launch][slurm]") {
  CHECK(read_reply({137, "12", ""}).reply == SubmitReply::unclear);
  CHECK(read_reply({0, "hello\n12", ""}).reply == SubmitReply::unclear);
  CHECK(read_reply({0, "12\n3", ""}).job == "12");
  CHECK(read_reply({1, "12", ""}).reply == SubmitReply::unclear);
}

TEST_CASE("only a connection that was never made is unreachable", "[launch][slurm]") {
  CHECK(submission_failed("Unable to contact slurm controller (connect failure)") ==
        SubmitReply::unreachable);
  CHECK(submission_failed("Slurm backup controller in standby mode") == SubmitReply::unreachable);
  CHECK(failed("sbatch: fatal: Could not establish a configuration source\n") ==
        SubmitReply::unreachable);
  // A frozen controller accepted the job after sbatch had printed this.
  CHECK(submission_failed("Socket timed out on send/recv operation") == SubmitReply::unclear);
  CHECK(submission_failed("Unable to contact slurm controller (receive failure)") ==
        SubmitReply::unclear);
  CHECK(submission_failed("Unable to contact slurm controller (send failure)") ==
        SubmitReply::unclear);
  CHECK(submission_failed("Zero Bytes were transmitted or received") == SubmitReply::unclear);
  CHECK(submission_failed("Connection reset by peer") == SubmitReply::unclear);
}

TEST_CASE("limits on submitted jobs leave no room; other limits refuse", "[launch][slurm]") {
  const std::string policy =
      "Job violates accounting/QOS policy (job submit limit, user's size and/or time limits)";
  CHECK(submission_failed(policy) == SubmitReply::no_room);
  CHECK(
      failed("sbatch: error: AssocMaxSubmitJobLimit\nsbatch: error: Batch job submission failed: " +
             policy) == SubmitReply::no_room);
  CHECK(failed("sbatch: error: QOSMaxSubmitJobPerUserLimit\nsbatch: error: Batch job submission "
               "failed: " +
               policy) == SubmitReply::no_room);
  CHECK(failed("sbatch: error: QOSMaxWallDurationPerJobLimit\nsbatch: error: Batch job submission "
               "failed: " +
               policy) == SubmitReply::refused);
  CHECK(failed("sbatch: error: Slurm job queue full, sleeping and retrying\nsbatch: error: Batch "
               "job submission failed: Unable to create job record, try again") ==
        SubmitReply::no_room);
  CHECK(failed("sbatch: error: Slurm temporarily unable to accept job, sleeping and retrying\n"
               "sbatch: error: Batch job submission failed: Resource temporarily unavailable") ==
        SubmitReply::no_room);
  CHECK(submission_failed("MaxJobCount limit reached") == SubmitReply::no_room);
}

TEST_CASE("a refusal says why, in one line", "[launch][slurm]") {
  const auto reply = read_reply(
      {1, "",
       "sbatch: error: invalid partition specified: f\033oo\nsbatch: error: Batch job submission "
       "failed: Invalid partition name specified\n"});
  CHECK(reply.reply == SubmitReply::refused);
  CHECK(
      reply.message ==
      "invalid partition specified: f\\x1boo; Batch job submission failed: Invalid partition name "
      "specified");
  CHECK(failed("sbatch: error: Unable to open file nofile.sh\n") == SubmitReply::refused);
  CHECK(submission_failed("Invalid job array specification") == SubmitReply::refused);
  CHECK(read_reply({1, "", ""}).message == "sbatch exited with code 1 and printed nothing");
}
