#include "backends/runtime/model/fused_attention.h"

#include <ATen/ATen.h>

#include <stdexcept>

#include "backends/runtime/kernels/random.h"

#ifdef ORCH_CUDA

#include <ATen/cuda/CUDAContext.h>
#include <ATen/cuda/CUDAGeneratorImpl.h>

namespace orch::train {
namespace {

// Sets the generator as a function of the position: a recomputation drops the same elements.
void seed(const AttentionOptions& options, const AttentionPlace& place) {
  auto generator = at::cuda::detail::getDefaultCUDAGenerator();
  auto key = combine(place.key, static_cast<std::uint64_t>(place.first_sample));
  if (options.first_head > 0) key = combine(key, static_cast<std::uint64_t>(options.first_head));
  generator.set_current_seed(key & 0x7fffffffffffffffull);
}

at::Tensor expand(const at::Tensor& bias, const at::Tensor& q) {
  return bias.unsqueeze(0).expand({q.size(0), q.size(1), q.size(2), q.size(2)});
}

}  // namespace

bool fused_attention_works(const AttentionOptions& options, at::ScalarType dtype,
                           at::Device device) {
  if (!device.is_cuda() || (dtype != at::kBFloat16 && dtype != at::kHalf)) return false;
  const auto& shape = options.shape;
  if (shape.dim % 8 != 0 || shape.dim > 128) return false;
  // The kernel with a bias needs aligned rows and a key for each query, the one without needs
  // Ampere.
  return options.alibi ? shape.seq % 8 == 0 && shape.group() == 1
                       : at::cuda::getDeviceProperties(device.index())->major >= 8;
}

at::Tensor fused_attention(const Heads& heads, const AttentionOptions& options,
                           const AttentionPlace& place, const at::Tensor& bias,
                           AttentionSaved& saved) {
  const auto& [q, k, v] = heads;
  if (place.dropout > 0) seed(options, place);
  if (options.alibi) {
    std::tie(saved.out, saved.logsumexp, saved.random_state[0], saved.random_state[1]) =
        at::_scaled_dot_product_efficient_attention(q, k, v, expand(bias, q), true, place.dropout,
                                                    false);
  } else {
    const auto result = at::_scaled_dot_product_cudnn_attention(q, k, v, std::nullopt, true,
                                                                place.dropout, true, false);
    saved.out = std::get<0>(result);
    saved.logsumexp = std::get<1>(result);
    saved.random_state[0] = std::get<6>(result);
    saved.random_state[1] = std::get<7>(result);
  }
  return saved.out.transpose(1, 2).reshape({q.size(0) * q.size(2), -1});
}

Heads fused_attention_backward(const at::Tensor& dout, const Heads& heads,
                               const AttentionOptions& options, const AttentionPlace& place,
                               const at::Tensor& bias, const AttentionSaved& saved) {
  const auto& [q, k, v] = heads;
  const auto seq = options.shape.seq;
  const auto dy = dout.view({-1, seq, options.shape.heads, options.shape.dim}).transpose(1, 2);
  at::Tensor dq, dk, dv, none;
  if (options.alibi) {
    std::tie(dq, dk, dv, none) = at::_scaled_dot_product_efficient_attention_backward(
        dy, q, k, v, expand(bias, q), saved.out, saved.logsumexp, saved.random_state[0],
        saved.random_state[1], place.dropout, {true, true, true, false}, false);
  } else {
    std::tie(dq, dk, dv) = at::_scaled_dot_product_cudnn_attention_backward(
        dy, q, k, v, saved.out, saved.logsumexp, saved.random_state[0], saved.random_state[1],
        at::Tensor(), at::Tensor(), at::Tensor(), seq, seq, place.dropout, true);
  }
  return {dq, dk, dv};
}

}  // namespace orch::train

#else

namespace orch::train {

bool fused_attention_works(const AttentionOptions&, at::ScalarType, at::Device) { return false; }

at::Tensor fused_attention(const Heads&, const AttentionOptions&, const AttentionPlace&,
                           const at::Tensor&, AttentionSaved&) {
  throw std::logic_error("no fused attention in this build");
}

Heads fused_attention_backward(const at::Tensor&, const Heads&, const AttentionOptions&,
                               const AttentionPlace&, const at::Tensor&, const AttentionSaved&) {
  throw std::logic_error("no fused attention in this build");
}

}  // namespace orch::train

#endif
