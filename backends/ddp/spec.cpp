#include "backends/ddp/setup.h"

ORCH_BACKEND(orch::ddp::Spec)
