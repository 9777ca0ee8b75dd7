#pragma once

// A function compiled for several processors; the program takes the best when it starts. On ARM
// every processor has the vector instructions that the compiler uses anyway.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#define ORCH_SIMD __attribute__((target_clones("default", "arch=haswell", "arch=skylake-avx512")))
#else
#define ORCH_SIMD
#endif

// Into such a function, or it would not be compiled for each.
#define ORCH_INLINE __attribute__((always_inline)) inline
