/* A backend in plain C with at most one flaw, chosen when it is compiled. */
#include <orch/backend.h>

static void check(const orch_run* run, const orch_sink* sink) {
  if (run->gpus > 8) sink->problem(sink->context, ORCH_REJECT, "gpus", "too many", "try gpus = 8");
}

static void work(const orch_run* run, const orch_sink* sink) {
  orch_schedule schedule = {sizeof schedule, ORCH_RECOMPUTE_NONE, 2, run->accumulate, 1, "fp32", 0};
  sink->schedule(sink->context, &schedule);
  sink->block(sink->context, "everything");
  double counts[1] = {1};
#ifdef BROKEN_BAD_WORK
  orch_stages stages = {sizeof stages, 1, 0, 0, counts};
#else
  orch_stages stages = {sizeof stages, 1, 0, 1, counts};
#endif
  sink->stages(sink->context, &stages);
}

#ifdef BROKEN_STRANGE_PARAM
static const char* const ways[] = {"flat", "deep", 0};
static const orch_value flat = {sizeof flat, ORCH_CHOICE, 1, 0, 0, "flat"};
#endif

#ifdef BROKEN_LARGE_VALUE /* no flaw: what a later minor version may have made of it */
static const struct {
  orch_value value;
  double more;
} larger = {{sizeof larger, ORCH_INTEGER, 1, 3, 0, 0}, 0.5};
#define THREE &larger.value
#else
static const orch_value three = {
#ifdef BROKEN_SMALL_VALUE
    8,
#else
    sizeof three,
#endif
    ORCH_INTEGER, 1, 3, 0, 0};
#define THREE &three
#endif

static const orch_param params[] = {
#ifdef BROKEN_STRANGE_PARAM
    {"way", "which way", ORCH_CHOICE, &flat, ways, 0, 0, 0, 0},
#endif
    {"depth", "how deep", ORCH_INTEGER, THREE, 0, 0, 0,
#ifdef BROKEN_ORPHAN_PARAM
     "compresion", "powersgd"
#elif defined(BROKEN_STRANGE_PARAM)
     "way", "deep"
#else
     0, 0
#endif
    }};

static const orch_strategy strategies[] = {{
#ifdef BROKEN_TWIN
    "megatron",
#else
    "plain",
#endif
    "a test", params,
#ifdef BROKEN_MANY_PARAMS
    0xffffffff,
#else
    sizeof params / sizeof *params,
#endif
    sizeof(orch_param)}};

static const orch_backend backend = {
#ifdef BROKEN_SMALL_STRUCT
    16,
#else
    sizeof(orch_backend),
#endif
#ifdef BROKEN_WRONG_MAJOR
    ORCH_ABI_MAJOR + 1,
#else
    ORCH_ABI_MAJOR,
#endif
    ORCH_ABI_MINOR,
#ifdef BROKEN_OTHER_NAME
    "somebody",
#else
    NAME,
#endif
    "1.0",
    "a test",
    strategies,
#ifdef BROKEN_MANY_STRATEGIES
    0xffffffff,
#else
    1,
#endif
    sizeof(orch_strategy),
#ifdef BROKEN_NULL_FIELDS
    0,
    0,
#else
    check,
    work,
#endif
    0
};

#ifdef BROKEN_NO_ENTRY
const orch_backend* another_entry(void) { return &backend; }
#else
const orch_backend* orch_backend_entry(uint32_t major, uint32_t minor);
const orch_backend* orch_backend_entry(uint32_t major, uint32_t minor) {
  (void)major, (void)minor;
#ifdef BROKEN_NULL_BACKEND
  return 0;
#else
  return &backend;
#endif
}
#endif
