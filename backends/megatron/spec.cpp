#include "backends/megatron/setup.h"

ORCH_BACKEND(orch::megatron::Spec)
