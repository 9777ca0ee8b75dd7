#pragma once

#include <cstdint>
#include <string_view>

#ifdef __CUDACC__
#define ORCH_HOST_DEVICE __host__ __device__
#else
#define ORCH_HOST_DEVICE
#endif

namespace orch::counter_random {

// Counter-based random numbers: the n-th number of a stream is a function of the stream's key and
// n. So no state has to be saved or restored for a recomputation or a restart, and an element gets
// the same number on every device and in every layout.

// splitmix64's finisher (Steele, Lea, Flood 2014).
ORCH_HOST_DEVICE inline std::uint64_t mix(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15ull;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
  return x ^ (x >> 31);
}

ORCH_HOST_DEVICE inline std::uint64_t combine(std::uint64_t key, std::uint64_t with) {
  return mix(key ^ mix(with));
}

// The 64 bits from which the other functions make their numbers.
ORCH_HOST_DEVICE inline std::uint64_t bits(std::uint64_t key, std::uint64_t index) {
  return mix(key + 0x9e3779b97f4a7c15ull * index);
}

// Uniform in [0, 1), with 24 random bits.
ORCH_HOST_DEVICE inline float uniform(std::uint64_t key, std::uint64_t index) {
  return static_cast<float>(bits(key, index) >> 40) * 0x1p-24f;
}

// A key from a name (FNV-1a).
inline std::uint64_t key_of(std::string_view name) {
  std::uint64_t hash = 0xcbf29ce484222325ull;
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3ull;
  return hash;
}

}  // namespace orch::counter_random
