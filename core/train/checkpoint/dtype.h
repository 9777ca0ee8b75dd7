#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string_view>

#include "core/train/checkpoint/pieces.h"

namespace orch::checkpoint {

// safetensors' name: "F32", "BF16", ...
std::string_view name(TensorDtype dtype);
std::optional<TensorDtype> parse_dtype(std::string_view name);

bool is_floating(TensorDtype dtype);
bool is_convertible(TensorDtype from,
                    TensorDtype to);  // floating types to each other; others to themselves

// Converts as many elements as `to` has; rounds to nearest, ties to even. The types must be
// convertible. The memory need not be aligned.
void convert(TensorDtype from_type, std::span<const std::byte> from, TensorDtype to_type,
             std::span<std::byte> to);

}  // namespace orch::checkpoint
