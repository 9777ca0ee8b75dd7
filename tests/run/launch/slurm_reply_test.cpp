#include "core/run/launch/slurm/slurm_reply.h"

#include <catch2/catch_test_macros.hpp>

namespace {

using orch::Output;
using orch::launch::read_reply;
using Outcome = orch::launch::Submitted::Outcome;

Outcome failed(const std::string& err) { return read_reply({1, "", err}).outcome; }
Outcome submission_failed(const std::string& why) {
  return failed("sbatch: error: Batch job submission failed: " + why + "\n");
}

}  // namespace

TEST_CASE("an id means that the job was taken", "[launch][slurm]") {
  CHECK(read_reply({0, "123\n", ""}).job == "123");
  CHECK(read_reply({0, "123;north\n", ""}).job == "123");
  CHECK(read_reply({0, "Welcome to North!\n123\n", "sbatch: hello"}).job == "123");
  CHECK(read_reply({137, "123\n", ""}).outcome == Outcome::accepted);
  CHECK(read_reply({143, "123\n", "", true}).outcome == Outcome::accepted);
}

TEST_CASE("without one, success proves nothing", "[launch][slurm]") {
  CHECK(read_reply({0, "", ""}).outcome == Outcome::unclear);
  CHECK(read_reply({0, "hello\n", ""}).outcome == Outcome::unclear);
  CHECK(read_reply({143, "", "", true}).outcome == Outcome::unclear);
  CHECK(read_reply({137, "", ""}).outcome == Outcome::unclear);
}

TEST_CASE("half an answer is none", "[launch][slurm]") {
  CHECK(read_reply({137, "12", ""}).outcome == Outcome::unclear);
  CHECK(read_reply({0, "hello\n12", ""}).outcome == Outcome::unclear);
  CHECK(read_reply({0, "12\n3", ""}).job == "12");
  CHECK(read_reply({1, "12", ""}).outcome == Outcome::unclear);
}

TEST_CASE("only a connection that was never made is unreachable", "[launch][slurm]") {
  CHECK(submission_failed("Unable to contact slurm controller (connect failure)") ==
        Outcome::unreachable);
  CHECK(submission_failed("Slurm backup controller in standby mode") == Outcome::unreachable);
  CHECK(failed("sbatch: fatal: Could not establish a configuration source\n") ==
        Outcome::unreachable);
  // A frozen controller took the job after sbatch had said this.
  CHECK(submission_failed("Socket timed out on send/recv operation") == Outcome::unclear);
  CHECK(submission_failed("Unable to contact slurm controller (receive failure)") ==
        Outcome::unclear);
  CHECK(submission_failed("Unable to contact slurm controller (send failure)") == Outcome::unclear);
  CHECK(submission_failed("Zero Bytes were transmitted or received") == Outcome::unclear);
  CHECK(submission_failed("Connection reset by peer") == Outcome::unclear);
}

TEST_CASE("limits on submitted jobs leave no room; other limits refuse", "[launch][slurm]") {
  const std::string policy =
      "Job violates accounting/QOS policy (job submit limit, user's size and/or time limits)";
  CHECK(submission_failed(policy) == Outcome::no_room);
  CHECK(
      failed("sbatch: error: AssocMaxSubmitJobLimit\nsbatch: error: Batch job submission failed: " +
             policy) == Outcome::no_room);
  CHECK(failed("sbatch: error: QOSMaxSubmitJobPerUserLimit\nsbatch: error: Batch job submission "
               "failed: " +
               policy) == Outcome::no_room);
  CHECK(failed("sbatch: error: QOSMaxWallDurationPerJobLimit\nsbatch: error: Batch job submission "
               "failed: " +
               policy) == Outcome::refused);
  CHECK(failed("sbatch: error: Slurm job queue full, sleeping and retrying\nsbatch: error: Batch "
               "job submission failed: Unable to create job record, try again") ==
        Outcome::no_room);
  CHECK(failed("sbatch: error: Slurm temporarily unable to accept job, sleeping and retrying\n"
               "sbatch: error: Batch job submission failed: Resource temporarily unavailable") ==
        Outcome::no_room);
  CHECK(submission_failed("MaxJobCount limit reached") == Outcome::no_room);
}

TEST_CASE("a refusal says why, in one line", "[launch][slurm]") {
  const auto reply = read_reply(
      {1, "",
       "sbatch: error: invalid partition specified: f\033oo\nsbatch: error: Batch job submission "
       "failed: Invalid partition name specified\n"});
  CHECK(reply.outcome == Outcome::refused);
  CHECK(
      reply.message ==
      "invalid partition specified: f\\x1boo; Batch job submission failed: Invalid partition name "
      "specified");
  CHECK(failed("sbatch: error: Unable to open file nofile.sh\n") == Outcome::refused);
  CHECK(submission_failed("Invalid job array specification") == Outcome::refused);
  CHECK(read_reply({1, "", ""}).message == "sbatch left with exit code 1 and without a word");
}
