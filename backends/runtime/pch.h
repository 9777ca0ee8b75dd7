#pragma once

// Precompiled: LibTorch's headers take most of every source's compile time.
#include <ATen/ATen.h>

#include <map>
#include <memory>
#include <string>
#include <vector>
