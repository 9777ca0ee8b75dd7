#include <csignal>
#include <exception>
#include <new>

#include "core/cli/commands.h"
#include "core/cli/exit.h"
#include "core/cli/program.h"

int main(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_IGN);  // orch ... | head is no error
  std::signal(SIGXFSZ, SIG_IGN);  // a file beyond ulimit -f fails like a full disk
  try {
    return orch::cli::program(argc, argv);
  } catch (const std::bad_alloc&) {
    return orch::cli::fail(orch::Error{"orch", "out of memory", "plan fewer runs at once"},
                           orch::cli::kError);
  } catch (const std::exception& error) {
    return orch::cli::fail(orch::Error{"orch", error.what(), "a bug: please report it"},
                           orch::cli::kError);
  }
}
