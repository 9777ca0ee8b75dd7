#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string_view>

#include "core/train/checkpoint/pieces.h"

namespace orch::checkpoint {

// As safetensors spells it: "F32", "BF16", ...
std::string_view name(Dtype dtype);
std::optional<Dtype> parse_dtype(std::string_view name);

bool is_floating(Dtype dtype);
bool is_convertible(Dtype from, Dtype to);  // floating types among each other; others to themselves

// As many elements as `to` holds; rounds to the nearest, halves to even. The types must be
// convertible. What lies in memory need not be aligned.
void convert(Dtype from_type, std::span<const std::byte> from, Dtype to_type,
             std::span<std::byte> to);

}  // namespace orch::checkpoint
