#pragma once

// The memory and traffic per parameter in training.

#include <cstdint>
#include <string_view>

#include "core/plan/number_format.h"
#include "core/price/backend/experts.h"
#include "core/price/backend/share.h"
#include "include/orch/backend.h"

#pragma GCC visibility push(hidden)

namespace orch::backend {

// The size of a stored or sent element. tf32 only rounds what the tensor cores read, narrower
// formats only the operands of products.
inline double element_bytes(std::string_view dtype) { return plan::bits_of(dtype) == 32 ? 4 : 2; }
inline double narrow_bytes(std::string_view dtype) {
  return plan::is_narrow(dtype) ? plan::bits_of(dtype) / 8.0 : 0;
}

inline std::uint32_t recompute_of(std::string_view choice) {
  if (choice == "full") return ORCH_RECOMPUTE_FULL;
  return choice == "selective" ? ORCH_RECOMPUTE_SELECTIVE : ORCH_RECOMPUTE_NONE;
}

// Bytes per parameter.
struct StateBytes {
  double weights = 2;    // in the format of the matrix products
  double master = 4;     // the fp32 copy that the optimizer updates; 0 if weights are fp32
  double moments = 8;    // the optimizer's state
  double gradients = 2;  // in the format of accumulation
  bool adafactor = false;

  double optimizer() const { return master + moments; }

  // Bytes moved per parameter in one optimizer step. AdamW, fused: gradients read once, master
  // weights and moments read and written, weights written. Adafactor, tensor by tensor, in fp32:
  // the gradient's square written and read twice for its means, their outer product written and
  // read, the update written, read for its RMS, and read and written twice for clipping and rate;
  // master weights read and written, weights written.
  double step_traffic() const {
    const double updated = master > 0 ? 2 * master + weights : 2 * weights;
    return adafactor ? gradients + 44 + updated : gradients + 2 * moments + updated;
  }

  // Bytes moved when one micro-batch's gradients are added to the sum: the new gradient read, the
  // sum read and written.
  double accumulate_traffic() const { return weights + 2 * gradients; }
};

// Elements that our own trainers copy from or to the device at a time; three such slices in each
// direction.
inline constexpr std::int64_t kStaged = 4'194'304;

// Emits the memory of this many parameters on the stages first..last, shared by `sharing` ranks.
inline void emit_kept(WorkSink& sink, const char* name, std::int64_t first, std::int64_t last,
                      double each, double params, double shards = 1,
                      std::uint32_t place = ORCH_DEVICE) {
  const double bytes = each * params / shards;
  sink.memory(
      name, first, last, bytes,
      [&] {
        const auto whole = say(each, " B x ", params, " params");
        return shards > 1 ? say(whole, " / ", shards, " = ", PrintedBytes{bytes})
                          : say(whole, " = ", PrintedBytes{bytes});
      },
      place);
}

// Mixed precision (Micikevicius et al. 2018): 16-bit weights with fp32 master weights and moments;
// without master weights when dtype is fp32. Adafactor (Shazeer and Stern 2018) stores row and
// column means instead of Adam's moments: 16h floats for the four matrices of GPT-2's layer, which
// has 12h^2 weights.
inline StateBytes states(std::string_view dtype, std::string_view optimizer,
                         const Transformer& model) {
  StateBytes result;
  result.weights = element_bytes(dtype);
  result.master = result.weights < 4 ? 4 : 0;
  result.gradients = result.weights;
  result.adafactor = optimizer == "adafactor";
  if (result.adafactor)
    result.moments = 4 * adafactor_means(model) * model.hidden / model.sizes.layer_params();
  return result;
}

}  // namespace orch::backend

#pragma GCC visibility pop
