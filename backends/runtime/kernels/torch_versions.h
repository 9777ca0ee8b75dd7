#pragma once

// The differences between LibTorch 1.13 and 2.11, in one place.
#include <torch/version.h>

#define ORCH_TORCH_AT_LEAST(major, minor) \
  (TORCH_VERSION_MAJOR > (major) ||       \
   (TORCH_VERSION_MAJOR == (major) && TORCH_VERSION_MINOR >= (minor)))
