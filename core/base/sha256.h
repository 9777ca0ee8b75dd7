#pragma once

#include <string>
#include <string_view>

namespace orch {

// SHA-256 (FIPS 180-4) in hex, as sha256sum prints it. Unlike stable_hash and the XXH64 of
// checkpoints it is for adversaries, and a job's script can compute it.
std::string sha256(std::string_view bytes);

}  // namespace orch
