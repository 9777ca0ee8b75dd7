#pragma once

#include <map>
#include <string>
#include <vector>

#include "core/base/files.h"
#include "core/base/result.h"
#include "core/train/checkpoint/safetensors.h"

namespace orch::huggingface {

// The tensors of a folder of safetensors files, by name without the prefix that most of them have.
class Source {
 public:
  static Result<Source> open(const fs::path& folder, const std::string& prefix);

  std::vector<std::string> names() const;
  bool has(const std::string& name) const { return found_.contains(name); }
  // The values of a tensor with that shape, as floats. Errors name the tensor.
  Result<std::vector<float>> read(const std::string& name,
                                  const std::vector<std::int64_t>& shape) const;

 private:
  struct Found {
    fs::path file;
    std::uint64_t data_begin;
    checkpoint::TensorEntry entry;
  };
  Status add(const fs::path& file, const std::string& prefix);

  fs::path folder_;
  std::map<std::string, Found> found_;
};

}  // namespace orch::huggingface
