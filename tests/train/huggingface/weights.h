#pragma once

// Weights in our format and in the other one, for tests.

#include "core/train/checkpoint/safetensors.h"
#include "tests/test.h"
#include "tests/train/checkpoint/made.h"

namespace made {

using NamedShape = std::pair<std::string, std::vector<std::int64_t>>;

inline checkpoint::CheckpointReader opened(const fs::path& place) {
  auto latest = checkpoint::open_at(place);
  REQUIRE(latest.reader);
  return std::move(*latest.reader);
}

inline std::vector<float> ours(const checkpoint::CheckpointReader& reader,
                               const NamedShape& parameter) {
  return read(reader,
              TensorPiece::whole("weights/" + parameter.first, TensorDtype::f32, parameter.second));
}

// A tensor of a safetensors file, found without the reader under test.
inline std::vector<float> theirs(const fs::path& file, const std::string& name) {
  const auto header = checkpoint::read_safetensors_header(file);
  const auto content = *read_file(file);
  std::vector<float> out;
  for (const auto& tensor : header->tensors)
    if (tensor.name == name) {
      out.resize((tensor.end - tensor.begin) / sizeof(float));
      std::memcpy(out.data(), content.data() + header->data_begin + tensor.begin,
                  tensor.end - tensor.begin);
    }
  return out;
}

}  // namespace made
