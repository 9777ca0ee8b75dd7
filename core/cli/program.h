#pragma once

namespace orch::cli {

// orch with these arguments, and its exit code: what main() and the fuzzers call. Whatever it
// throws, but for want of memory, is a bug.
int program(int argc, char** argv);

}  // namespace orch::cli
