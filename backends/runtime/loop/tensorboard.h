#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "backends/runtime/loop/append_file.h"

namespace orch::train {

// Curves for TensorBoard: <attempt>/tensorboard/events.out.tfevents.<time>.<host>.orch. The format
// is TensorFlow's: records with checksums, each a protobuf `Event`.
class TensorBoard {
 public:
  TensorBoard() = default;                        // for ranks that write no curves
  explicit TensorBoard(const fs::path& attempt);  // throws ClassifiedFailure ("disk")

  // Adds one point to each curve: "loss", "learning_rate", "gradient_norm", "tokens_per_second",
  // "step_seconds", "evaluation_loss".
  void scalars(std::int64_t step, const std::vector<std::pair<std::string, double>>& values);

 private:
  void write(const std::string& event);

  std::unique_ptr<AppendFile> file_;
};

// Castagnoli's 32-bit CRC, as in iSCSI.
std::uint32_t crc32c(std::string_view data);

}  // namespace orch::train
