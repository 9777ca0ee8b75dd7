#include "core/run/launch/process_shell.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/wait.h>

#include <thread>

#include "core/base/lock.h"
#include "tests/place.h"
#include "tests/run/launch/local_fixture.h"
#include "tests/test.h"

namespace {

using orch::Command;
using orch::launch::ProcessShell;
using orch::test::eventually;
namespace fs = orch::fs;

Command bash(std::string script) {
  Command command;
  command.argv = {"bash", "-c", std::move(script)};
  return command;
}

}  // namespace

TEST_CASE("words reach a program as they are", "[launch][shell]") {
  ProcessShell shell;
  Command command;
  command.argv = {"printf", "<%s>", "a b", "", "$(id)", "line\nbreak", "'\"\\", "*"};
  const auto output = shell.run(command);
  REQUIRE(output);
  CHECK(output->code == 0);
  CHECK(output->out == "<a b><><$(id)><line\nbreak><'\"\\><*>");
  CHECK(output->err.empty());
}

TEST_CASE("input, both outputs and the exit code", "[launch][shell]") {
  ProcessShell shell;
  auto command = bash("cat; echo complaint >&2; exit 7");
  command.input = std::string(300000, 'x');
  const auto output = shell.run(command);
  REQUIRE(output);
  CHECK(output->code == 7);
  CHECK(output->out == command.input);
  CHECK(output->err == "complaint\n");
}

TEST_CASE("a program that does not read its input disturbs nobody", "[launch][shell]") {
  ProcessShell shell;
  auto command = bash("exec <&-; echo done");
  command.input = std::string(1 << 20, 'x');
  const auto output = shell.run(command);
  REQUIRE(output);
  CHECK(output->out == "done\n");
}

TEST_CASE("much output on both sides does not block", "[launch][shell]") {
  ProcessShell shell;
  const auto output = shell.run(
      bash("for i in {1..20}; do head -c 1000000 /dev/zero >&2; head -c 1000000 /dev/zero; done"));
  REQUIRE(output);
  CHECK(output->out.size() == 20'000'000);
  CHECK(output->err.size() == 20'000'000);
}

TEST_CASE("endless output is an error, not the end of our memory", "[launch][shell]") {
  ProcessShell shell(1 << 20);
  CHECK_FALSE(shell.run(bash("cat /dev/zero")));
  CHECK_FALSE(shell.run(bash("exec 2>&-; exec cat /dev/zero")));
  CHECK_FALSE(shell.run(bash("cat /dev/zero >&2")));
}

TEST_CASE("a signal is 128 more", "[launch][shell]") {
  ProcessShell shell;
  const auto output = shell.run(bash("kill -s KILL $$"));
  REQUIRE(output);
  CHECK(output->code == 128 + SIGKILL);
  CHECK_FALSE(output->timed_out);
}

TEST_CASE("one that takes too long is ended, with all that it started", "[launch][shell]") {
  ProcessShell shell;
  auto command = bash("trap '' TERM; sleep 1000 & echo $!; wait; sleep 1000");
  command.timeout_seconds = 3;  // long enough for its output, on a busy machine
  const auto output = shell.run(command);
  REQUIRE(output);
  CHECK(output->timed_out);
  CHECK(output->code == 128 + SIGKILL);
  const auto grandchild = std::stoi(output->out);
  CHECK(eventually([&] {
    std::ifstream state("/proc/" + std::to_string(grandchild) + "/stat");
    std::string pid, name, letter;
    return !(state >> pid >> name >> letter) || letter == "Z";
  }));
}

TEST_CASE("a child that leaves its output open to others is not waited for", "[launch][shell]") {
  ProcessShell shell;
  auto command = bash("sleep 1000 & echo $!");
  const auto output = shell.run(command);
  REQUIRE(output);
  CHECK(output->code == 0);
  ::kill(std::stoi(output->out), SIGKILL);
}

TEST_CASE("what cannot be started is an error that names it", "[launch][shell]") {
  ProcessShell shell;
  Command command;
  CHECK_FALSE(shell.run(command));
  command.argv = {"no-such-program-anywhere"};
  const auto missing = shell.run(command);
  REQUIRE_FALSE(missing);
  CHECK(missing.error()[0].place == "no-such-program-anywhere");
  command.argv = {"/etc/passwd"};
  CHECK_FALSE(shell.run(command));
  command.argv = {"true", std::string("a\0b", 3)};
  CHECK_FALSE(shell.run(command));
  auto elsewhere = bash("pwd");
  elsewhere.directory = "/no/such/folder";
  CHECK_FALSE(shell.run(elsewhere));
}

TEST_CASE("the folder to work in, and a file for the output", "[launch][shell]") {
  ProcessShell shell;
  const TestFolder folder;
  auto command = bash("pwd; echo complaint >&2");
  command.directory = folder.root();
  command.output = folder.root() / "answer";
  REQUIRE(orch::write_file_atomically(command.output, std::string(100, 'x')));
  const auto output = shell.run(command);
  REQUIRE(output);
  CHECK(output->out.empty());
  CHECK(output->err == "complaint\n");
  CHECK(*orch::read_file(command.output) == fs::canonical(folder.root()).string() + "\n");
  command.output = folder.root() / "no" / "answer";
  CHECK_FALSE(shell.run(command));
}

TEST_CASE("a child inherits the descriptor it holds and no other", "[launch][shell]") {
  ProcessShell shell;
  const TestFolder folder;
  auto lock = orch::FileLock::take(folder.root() / "lock", orch::FileLock::Wait::no);
  REQUIRE(lock);
  const int careless = ::open("/dev/null", O_RDONLY);  // without O_CLOEXEC
  auto command = bash("readlink /proc/$$/fd/*");
  const auto none = shell.run(command);
  command.hold = lock->descriptor();
  const auto held = shell.run(command);
  ::close(careless);
  REQUIRE(none);
  REQUIRE(held);
  CHECK(none->out.find("lock") == std::string::npos);
  CHECK(held->out.find((folder.root() / "lock").string()) != std::string::npos);
  CHECK(std::ranges::count(none->out, '\n') == 3);
  CHECK(std::ranges::count(held->out, '\n') == 4);
}

TEST_CASE("killed ourselves, the program ends its work and holds the lock until then",
          "[launch][shell]") {
  const TestFolder folder;
  const auto path = folder.root() / "lock";
  const pid_t us = ::fork();
  REQUIRE(us >= 0);
  if (us == 0) {
    auto lock = orch::FileLock::take(path, orch::FileLock::Wait::yes);
    auto command = bash("echo started > started; until [ -e go ]; do sleep 0.01; done; echo 123");
    command.directory = folder.root();
    command.output = folder.root() / "answer";
    command.hold = lock->descriptor();
    ProcessShell shell;
    const auto output = shell.run(command);
    ::_exit(0);
  }
  REQUIRE(eventually([&] { return fs::exists(folder.root() / "started"); }));
  ::kill(us, SIGKILL);
  ::waitpid(us, nullptr, 0);
  CHECK_FALSE(orch::FileLock::take(path, orch::FileLock::Wait::no)->held());
  REQUIRE(orch::write_file_atomically(folder.root() / "go", ""));
  CHECK(orch::FileLock::take(path, orch::FileLock::Wait::yes)->held());
  CHECK(*orch::read_file(folder.root() / "answer") == "123\n");
}

TEST_CASE("the environment of what we parse, and of what hands its own on", "[launch][shell]") {
  ::setenv("SLURM_CPU_BIND", "quiet,mask_cpu:0x1", 1);
  ::setenv("SLURM_CONF", "/some/where", 1);
  ::setenv("ORCH_TEST_VALUE", "a\nb=c", 1);
  ::unsetenv("LC_ALL");
  ProcessShell shell;
  auto command = bash(
      "echo \"${SLURM_CPU_BIND-none} ${SLURM_CONF-none} ${LC_ALL-none} ${SLURM_TIME_FORMAT-none} "
      "$ORCH_TEST_VALUE\"");
  const auto parsed = shell.run(command);
  command.parsed = false;
  const auto handed_on = shell.run(command);
  ::unsetenv("SLURM_CPU_BIND");
  ::unsetenv("SLURM_CONF");
  CHECK(parsed->out == "none /some/where C %s a\nb=c\n");
  CHECK(handed_on->out == "none /some/where none none a\nb=c\n");
}

TEST_CASE("a Ctrl-C for us is not one for the program", "[launch][shell]") {
  ProcessShell shell;
  const auto output = shell.run(bash("ps -o pgid= -p $$; echo $$"));
  REQUIRE(output);
  int group = 0, pid = 0;
  REQUIRE(std::sscanf(output->out.c_str(), "%d %d", &group, &pid) == 2);
  CHECK(group == pid);
}
