#pragma once

// Functions that make an orch_op: first what happens, then when. during(gemm("QKV", m, n, k),
// {.forward = 1}).

#include <cstdint>
#include <utility>

#include "include/orch/backend.h"

#pragma GCC visibility push(hidden)

namespace orch::backend {

// The number of times that an operation happens: per micro-batch, and per step.
struct Passes {
  double forward = 0;
  double recompute = 0;
  double backward = 0;
  double step = 0;
};

// A group of ranks: first, first + stride, first + 2 * stride, ...
struct MeshGroup {
  std::int64_t size = 1;
  std::int64_t stride = 1;
};

inline orch_op make_op(std::uint32_t kind, const char* name) {
  orch_op op{};
  op.struct_size = sizeof op;
  op.kind = kind;
  op.name = name;
  return op;
}

// [m, k] x [k, n], batch times.
inline orch_op gemm(const char* name, double m, double n, double k,
                    std::uint32_t reads = ORCH_NARROW) {
  auto op = make_op(ORCH_GEMM, name);
  op.m = m, op.n = n, op.k = k, op.batch = 1, op.kernel = reads;
  return op;
}

inline orch_op attention(const char* name, double m, double n, double k, double batch,
                         std::int64_t head_dim) {
  auto op = make_op(ORCH_ATTENTION, name);
  op.m = m, op.n = n, op.k = k, op.batch = batch, op.align = head_dim;
  return op;
}

// kind: ORCH_MEMORY, ORCH_COPY or ORCH_HOST.
inline orch_op moved(std::uint32_t kind, const char* name, double bytes,
                     std::uint32_t kernel = ORCH_STREAMS) {
  auto op = make_op(kind, name);
  op.bytes = bytes, op.kernel = kernel;
  return op;
}

// bytes: the whole buffer, gathered or reduced. calls: number of collectives that it is split into.
inline orch_op collective(const char* name, std::uint32_t which, double bytes, MeshGroup group,
                          double calls = 1) {
  auto op = make_op(ORCH_COLLECTIVE, name);
  op.collective = which, op.bytes = bytes, op.calls = calls;
  op.group_size = group.size, op.group_stride = group.stride;
  return op;
}

// Returns the operation itself, not a copy: copying what was just written would stall.
inline orch_op&& during(orch_op&& op, Passes passes, std::uint32_t hidden = ORCH_OPEN) {
  op.forward = passes.forward, op.recompute = passes.recompute;
  op.backward = passes.backward, op.step = passes.step;
  op.hidden = hidden;
  return std::move(op);
}
inline orch_op during(const orch_op& op, Passes passes, std::uint32_t hidden = ORCH_OPEN) {
  return during(orch_op(op), passes, hidden);
}

// Floating-point operations of one occurrence.
inline double flops(const orch_op& op) { return 2 * op.m * op.n * op.k * op.batch; }

}  // namespace orch::backend

#pragma GCC visibility pop
