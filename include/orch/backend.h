/* The border between orch and a backend: plain C, versioned, no exceptions across it. The only
 * public header of orch; it includes no other one of ours.
 *
 * A backend is a shared library `orch-<name>.abi3.so`, where 3 is the major version of this header,
 * that exports const orch_backend* orch_backend_entry(uint32_t host_major, uint32_t host_minor);
 * The host opens only files of its own major version, so that plug-ins for several versions can be
 * in one folder. Within a major version, structs only grow, at their end: a reader of a struct must
 * check its struct_size (or the array's element size) before reading a newer field, and must step
 * through an array by its element size. Strings are NUL-terminated UTF-8 and belong to the caller;
 * what a backend describes lives as long as the process (plug-ins are never unloaded), what it
 * passes to the sink is copied. The functions may be called from several threads at once.
 * C++ authors: see orch/spec.h. */
#ifndef ORCH_BACKEND_H
#define ORCH_BACKEND_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define ORCH_ABI_MAJOR 3u
#define ORCH_ABI_MINOR 1u

/* ---- describe ---- */

enum { ORCH_BOOLEAN = 0, ORCH_INTEGER = 1, ORCH_REAL = 2, ORCH_CHOICE = 3, ORCH_TEXT = 4 };

typedef struct orch_value {
  uint32_t struct_size;
  uint32_t type;
  uint32_t given;   /* 0: no value */
  int64_t integer;  /* ORCH_BOOLEAN (0 or 1), ORCH_INTEGER */
  double real;      /* ORCH_REAL */
  const char* text; /* ORCH_CHOICE, ORCH_TEXT */
} orch_value;

typedef struct orch_param {
  const char* name;
  const char* doc;
  uint32_t type;
  const orch_value* default_value; /* NULL, or not given: the user must set it */
  const char* const* choices;      /* NULL-terminated; for ORCH_CHOICE */
  double min, max;                 /* both 0: unbounded */
  const char* parent; /* NULL, or the ORCH_CHOICE parameter whose choice this one belongs to: */
  const char* choice; /* powersgd_rank has parent "compression" and choice "powersgd", the prefix
                         of its name */
} orch_param;

typedef struct orch_strategy {
  const char* name; /* its name in Lua: megatron, fsdp, ... */
  const char* doc;
  const orch_param* params;
  uint32_t n_params;
  uint32_t param_size; /* sizeof(orch_param) where the backend was built */
} orch_strategy;

/* ---- a run, as a backend sees it ---- */

/* A size of the model by its name in Lua ("layers", "kv_heads", ...); a flag is 0 or 1. Sizes
 * that are missing are 0, or have their usual value (orch/spec.h knows it): a new size needs no
 * new version. */
typedef struct orch_size {
  const char* name;
  double value;
} orch_size;

typedef struct orch_run {
  uint32_t struct_size;
  uint32_t strategy; /* index into the backend's strategies */
  const orch_value*
      values; /* in the order of that strategy's params, with defaults: see orch_value_at */
  uint32_t n_values;
  uint32_t value_size;    /* sizeof(orch_value) where the host was built */
  const char* family;     /* gpt, llama, ...; the sizes define what it computes */
  const orch_size* sizes; /* always in the same order: see orch_size_at */
  uint32_t n_sizes;
  uint32_t size_size; /* sizeof(orch_size) */
  int64_t gpus, nodes, gpus_per_node;
  int64_t tensor_parallel, pipeline_parallel, data_parallel, context_parallel;
  int64_t micro_batch, accumulate, global_batch;
  double usable_memory;    /* bytes of GPU memory that a process can allocate; 0: unknown */
  int64_t gpus_per_domain; /* GPUs that the fast links join, of one node or several; 0: unknown */
} orch_run;

/* The i-th value and the i-th size of a run; elements may be larger than this header's structs. */
static inline const orch_value* orch_value_at(const orch_run* run, uint32_t i) {
  return (const orch_value*)(const void*)((const char*)run->values + (size_t)i * run->value_size);
}
static inline const orch_size* orch_size_at(const orch_run* run, uint32_t i) {
  return (const orch_size*)(const void*)((const char*)run->sizes + (size_t)i * run->size_size);
}

/* ---- work: what happens in one step ---- */

enum { ORCH_RECOMPUTE_NONE = 0, ORCH_RECOMPUTE_SELECTIVE = 1, ORCH_RECOMPUTE_FULL = 2 };

typedef struct orch_schedule {
  uint32_t struct_size;
  uint32_t recompute;
  int64_t stages;        /* of the pipeline; 1: no pipeline */
  int64_t micro_batches; /* per step and pipeline */
  int64_t chunks;        /* model chunks per stage: 1, or more when interleaved */
  const char* dtype; /* of the matrix products: fp32, tf32, bf16, fp8, …: ends with its bits */
  uint32_t filled;   /* weight gradients are computed when a stage would be idle */
} orch_schedule;

enum {
  ORCH_GEMM = 0,       /* a dense matrix product: m, n, k, batch */
  ORCH_ATTENTION = 1,  /* a batched product inside attention: m, n, k, batch; head_dim in align */
  ORCH_MEMORY = 2,     /* bytes through the device's memory */
  ORCH_COLLECTIVE = 3, /* bytes in a group of ranks */
  ORCH_COPY = 4,       /* bytes between device and host */
  ORCH_HOST = 5,       /* bytes through the host's memory, for CPU work of this rank */
  ORCH_OVERHEAD = 6,   /* one fixed cost of the layer (launches and the like) */
  ORCH_STAGE_OVERHEAD = 7 /* one fixed cost of a pipeline stage (transfer of activations) */
};

enum {
  ORCH_ALL_REDUCE = 0,
  ORCH_ALL_GATHER = 1,
  ORCH_REDUCE_SCATTER = 2,
  ORCH_BROADCAST = 3,
  ORCH_ALL_TO_ALL = 4,
  ORCH_SEND = 5 /* to the next rank of the group */
};

/* What limits an ORCH_MEMORY operation besides memory, on devices that compute slowly. */
enum {
  ORCH_STREAMS = 0,      /* nothing: copies, sums, the optimizer */
  ORCH_ELEMENT_WISE = 1, /* norms, activation functions, dropout */
  ORCH_SOFTMAX = 2,      /* masks and softmax */
  ORCH_CROSS_ENTROPY = 3
};

/* The kind of an ORCH_OVERHEAD. */
enum {
  ORCH_OF_LAYER = 0,   /* a layer: time that cannot be hidden, and the host's launches */
  ORCH_OF_EXPERTS = 1, /* a layer's experts: launches only */
  ORCH_IN_GRAPH = 2,   /* a layer in a CUDA graph: time that cannot be hidden, and no launches */
  ORCH_OF_KERNELS = 3  /* kernels with little to do, `calls` of them: their start and end */
};

/* The operands of an ORCH_GEMM. */
enum {
  ORCH_NARROW = 0, /* in the schedule's dtype */
  ORCH_WIDE = 1    /* at least 16 bits: the LM head, a router */
};

/* What an operation may overlap; for the host's work, besides collectives and copies. */
enum {
  ORCH_OPEN = 0,
  ORCH_HIDDEN = 1,       /* the computation of its phase; in step: the last backward */
  ORCH_UNDER_FORWARD = 2 /* in step: the next step's first forward */
};

/* One operation of a block and how often it is executed: forward, recompute and backward count
 * per micro-batch, step per step (after the last micro-batch). */
typedef struct orch_op {
  uint32_t struct_size;
  uint32_t kind;
  const char* name;
  const char* formula; /* with its numbers, if the sink asks for it; else NULL */
  double forward, recompute, backward, step;
  uint32_t hidden; /* ORCH_OPEN, ... */
  uint32_t collective;
  double m, n, k, batch; /* 2*m*n*k*batch floating-point operations */
  double bytes;          /* the whole buffer of a collective, gathered or reduced */
  int64_t align;         /* head_dim, for ORCH_ATTENTION */
  int64_t group_size;    /* ranks in the group */
  int64_t group_stride;  /* distance between neighbours in global rank order */
  double calls;          /* number of collectives that it is split into; 0 means 1 */
  uint32_t kernel;       /* ORCH_STREAMS, ...; for a GEMM: ORCH_NARROW, ...; for an OVERHEAD:
                            ORCH_OF_LAYER, ... */
} orch_op;

/* Stages first..last (inclusive) run the blocks: counts[i] times the i-th block emitted. */
typedef struct orch_stages {
  uint32_t struct_size;
  uint32_t n_counts;
  int64_t first, last;
  const double* counts;
} orch_stages;

enum {
  ORCH_DEVICE = 0,
  ORCH_HOST_MEMORY = 1,
  ORCH_COMMUNICATORS = 2, /* on the device: communicators; bytes is the number of groups */
  ORCH_SETTLED = 3        /* on the device, allocated once and kept: without fragmentation */
};

typedef struct orch_memory {
  uint32_t struct_size;
  uint32_t place;
  const char* name;
  const char* formula;
  int64_t first, last; /* stages */
  double bytes;        /* on one rank of such a stage; for ORCH_COMMUNICATORS, their number */
} orch_memory;

/* ---- the sink: receives a backend's answers ---- */

enum { ORCH_REJECT = 0, ORCH_WARN = 1 };
enum { ORCH_EXPLAIN = 1, ORCH_QUIET = 2, ORCH_TIME = 3 };

typedef struct orch_sink {
  uint32_t struct_size;
  /* ORCH_EXPLAIN: formulas are wanted. ORCH_QUIET: the text of problems is not read, only their
   * severity and field count; fact and fix may be empty. ORCH_TIME (since 3.1): the memory is
   * known, and need not be emitted. Else 0. */
  uint32_t explain;
  void* context;
  void (*problem)(void* context, uint32_t severity, const char* field, const char* fact,
                  const char* fix);
  void (*schedule)(void* context, const orch_schedule* schedule);
  void (*block)(void* context, const char* name); /* the following ops belong to it */
  void (*op)(void* context, const orch_op* op);
  void (*stages)(void* context, const orch_stages* stages);
  void (*memory)(void* context, const orch_memory* memory);
} orch_sink;

typedef struct orch_backend {
  uint32_t struct_size;
  uint32_t abi_major, abi_minor;
  const char* name;
  const char* version;
  const char* doc;
  const orch_strategy* strategies;
  uint32_t n_strategies;
  uint32_t strategy_size; /* sizeof(orch_strategy) where the backend was built */
  /* Reports every problem with the run. Called only with positive sizes. */
  void (*check)(const orch_run* run, const orch_sink* sink);
  /* Emits schedule, blocks with their ops, stages, memory. Called only for runs that passed
   * check. */
  void (*work)(const orch_run* run, const orch_sink* sink);
  /* Since 3.1; may be NULL. Check and memory in one call, for searches, in which most runs do not
   * fit: reports every problem as check does; if none is an ORCH_REJECT, emits the schedule and the
   * memory that work emits. */
  void (*fit)(const orch_run* run, const orch_sink* sink);
} orch_backend;

typedef const orch_backend* (*orch_backend_entry_fn)(uint32_t host_major, uint32_t host_minor);

#define ORCH_BACKEND_ENTRY "orch_backend_entry"

#ifdef __cplusplus
}
#endif

#endif
