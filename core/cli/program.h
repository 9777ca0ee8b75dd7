#pragma once

namespace orch::cli {

// Runs orch with these arguments and returns its exit code: called by main() and the fuzzers. Any
// exception other than out-of-memory is a bug.
int program(int argc, char** argv);

}  // namespace orch::cli
