#pragma once

// A function compiled for several instruction sets; the program selects the best when it starts. On
// ARM the vector instructions that the compiler uses exist on every processor.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#define ORCH_SIMD __attribute__((target_clones("default", "arch=haswell", "arch=skylake-avx512")))
#else
#define ORCH_SIMD
#endif

// For functions called from such a function, which otherwise would not be compiled for each
// instruction set.
#define ORCH_INLINE __attribute__((always_inline)) inline
