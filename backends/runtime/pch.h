#pragma once

// Precompiled: LibTorch's headers take most of the time of every source here.
#include <ATen/ATen.h>

#include <map>
#include <memory>
#include <string>
#include <vector>
