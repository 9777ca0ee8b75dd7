#include "core/plan/slurm.h"
#include "tests/plan/hardware/toy.h"
#include "tests/test.h"

namespace orch::plan {
namespace {

constexpr const char* kFields[] = {"partition", "account", "qos",  "constraint", "reservation",
                                   "hint",      "gres",    "time", "options"};

bool accepted(std::string_view field, std::string_view value) {
  return static_cast<bool>(check_sbatch_word(field, value, "here"));
}

TEST_CASE("words of real job scripts are accepted", "[plan][slurm]") {
  CHECK(accepted("account", "six@a100"));
  CHECK(accepted("partition", "gpu_p5,gpu_p13"));
  CHECK(accepted("qos", "qos_gpu-t4"));
  CHECK(accepted("constraint", "v100-32g"));
  CHECK(accepted("constraint", "gpu&hbm80g"));
  CHECK(accepted("constraint", "[rack1*2&rack2*4]"));
  CHECK(accepted("constraint", "(a|b)&c"));
  CHECK(accepted("reservation", "hug"));
  CHECK(accepted("hint", "nomultithread"));
  CHECK(accepted("gres", "gpu:a100:8"));
  CHECK(accepted("time", "100:00:00"));
  CHECK(accepted("options", "--exclusive"));
  CHECK(accepted("options", "--mem=0"));
  CHECK(accepted("options", "--exclude=node[01-04],node09"));
  CHECK(accepted("options", "--mail-user=a.b@example.org"));
}

TEST_CASE("a hostile string is refused in every field", "[plan][slurm]") {
  for (const auto* field : kFields)
    for (const std::string bad : {"a b",     "a\nb", "a\n#SBATCH --uid=0",
                                  "$(id)",   "`id`", "a;b",
                                  "a'b",     "a\"b", "a\\b",
                                  "a#b",     "a\tb", "a\rb",
                                  "a<b",     "a>b",  "a!b",
                                  "a~b",     "a{b}", "a^b",
                                  "a?b",     "é",    "\x7f",
                                  "\x1b[2J", "-a",   "--uid 0"}) {
      CAPTURE(field, bad);
      CHECK_FALSE(accepted(field, bad));
    }
  CHECK_FALSE(accepted("account", std::string("a\0b", 3)));
  CHECK_FALSE(accepted("account", std::string(257, 'a')));
  for (const auto* expression : {"a&b", "a|b", "a*2", "[a]", "(a)"})
    CHECK_FALSE(accepted("account", expression));
}

TEST_CASE("a refusal names the character and what is allowed", "[plan][slurm]") {
  const auto status = check_sbatch_word("account", "a\nb", "x.lua: job.account");
  CHECK(text(status.error()) ==
        "x.lua: job.account: 'a\\x0ab' holds '\\x0a', which an #SBATCH line cannot carry\n"
        "  use letters, digits and _ - . : , @ + /");
  CHECK_THAT(text(check_sbatch_word("qos", "a b", "p").error()),
             ContainsSubstring("holds a blank"));
  CHECK_THAT(text(check_sbatch_word("qos", "é", "p").error()), ContainsSubstring("not ASCII"));
}

TEST_CASE("an option has the form of one and repeats nothing", "[plan][slurm]") {
  for (const auto* bad : {"", "exclusive", "-N2", "--", "--=1", "---x", "--a_b=1"})
    CHECK_FALSE(accepted("options", bad));
  CHECK_THAT(text(check_sbatch_word("options", "--account=x", "p").error()),
             ContainsSubstring("set 'account'"));
  CHECK_THAT(text(check_sbatch_word("options", "--signal=USR1@60", "p").error()),
             ContainsSubstring("set 'signal_seconds'"));
  CHECK_THAT(text(check_sbatch_word("options", "--nodes=4", "p").error()),
             ContainsSubstring("--nodes is set by orch"));
}

TEST_CASE("nothing to say is fine", "[plan][slurm]") {
  CHECK(accepted("account", ""));
  CHECK(accepted("time", ""));
}

// The forms of sbatch(1): minutes, minutes:seconds, hours:minutes:seconds, days-hours,
// days-hours:minutes and days-hours:minutes:seconds.
TEST_CASE("times are read as SLURM reads them", "[plan][slurm]") {
  CHECK(parse_slurm_time("90") == 5400);
  CHECK(parse_slurm_time("1:30") == 90);
  CHECK(parse_slurm_time("20:00:00") == 72000);
  CHECK(parse_slurm_time("100:00:00") == 360000);
  CHECK(parse_slurm_time("2:00:00") == 7200);
  CHECK(parse_slurm_time("1-0") == 86400);
  CHECK(parse_slurm_time("1-12:30") == 86400 + 12 * 3600 + 30 * 60);
  CHECK(parse_slurm_time("4-04:00:01") == 4 * 86400 + 4 * 3600 + 1);
}

TEST_CASE("what is not a time limit is not read as one", "[plan][slurm]") {
  for (const auto* bad : {"",        "0",       "0:00",    "00:00:00",   "-5",      "20h",
                          "1:60",    "1:00:60", "1:60:00", "1-24:00:00", "1-",      "-1:00",
                          "1:2:3:4", "1::2",    ":1",      "1:",         " 1",      "1 ",
                          "1e3",     "1.5",     "+1",      "UNLIMITED",  "9999999", "1-1-1"})
    CHECK_FALSE(parse_slurm_time(bad));
  CHECK_FALSE(accepted("time", "20h"));
}

TEST_CASE("names a shell can export", "[plan][slurm]") {
  for (const auto* good : {"A", "_", "NCCL_DEBUG", "a1"}) CHECK(is_environment_name(good));
  for (const auto* bad : {"", "1A", "A B", "A=B", "A-B", "é", "A\n", "$A"})
    CHECK_FALSE(is_environment_name(bad));
}

TEST_CASE("a partition may hold spare nodes", "[hardware][slurm]") {
  namespace toy = hardware::toy;
  const auto cluster =
      toy::cluster(toy::replaced(toy::kCluster, "signal_seconds: 600", "spare_nodes: 2"));
  REQUIRE(cluster);
  CHECK(cluster->partitions[0].slurm.spare_nodes == 2);
}

TEST_CASE("a cluster may leave it to the machine who launches", "[hardware]") {
  namespace toy = hardware::toy;
  const auto cluster = toy::cluster(toy::replaced(toy::kCluster, "launch: slurm", "launch: auto"));
  REQUIRE(cluster);
  CHECK(cluster->launch == "auto");
  CHECK(cluster->may_use_slurm());
}

TEST_CASE("a cluster file's words pass through the same check", "[hardware][slurm]") {
  using hardware::toy::complaint;
  CHECK_THAT(complaint("account: six@a100", "account: \"x\\n#SBATCH --uid=0\""),
             StartsWith("toy.yaml:26: partitions[1].slurm.account: 'x\\x0a#SBATCH --uid=0' holds"));
  CHECK_THAT(complaint("\"20:00:00\"", "20h"),
             StartsWith("toy.yaml:27: partitions[1].slurm.time: '20h' is not a time limit"));
  CHECK_THAT(complaint("\"--mem=0\"", "\"--mem=$(id)\""),
             StartsWith("toy.yaml:30: partitions[1].slurm.options[2]: '--mem=$(id)' holds '$'"));
}

}  // namespace
}  // namespace orch::plan
