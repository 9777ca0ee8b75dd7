#include <csignal>
#include <exception>
#include <new>

#include "core/cli/program.h"
#include "core/cli/terminal.h"

int main(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_IGN);  // orch ... | head is not an error
  std::signal(SIGXFSZ, SIG_IGN);  // a file beyond ulimit -f fails like a full disk
  const auto complain = [](const char* fact, const char* fix) {
    orch::cli::Terminal().complain(orch::Error{"orch", fact, fix});
    return 1;
  };
  try {
    return orch::cli::program(argc, argv);
  } catch (const std::bad_alloc&) {
    return complain("out of memory", "plan fewer runs at once");
  } catch (const std::exception& error) {
    return complain(error.what(), "a bug: please report it");
  }
}
