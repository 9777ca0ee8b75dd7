#include "backends/zero3/setup.h"

ORCH_BACKEND(orch::zero3::Spec)
