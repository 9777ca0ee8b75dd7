#include "backends/runtime/model/parameters.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include <cmath>
#include <numbers>
#include <stdexcept>

#include "backends/runtime/kernels/random.h"

namespace orch::train {
namespace {

constexpr std::int64_t kAlign = 64;  // elements

std::int64_t elements(const std::vector<std::int64_t>& shape) {
  std::int64_t count = 1;
  for (const auto size : shape) count *= size;
  return count;
}

at::Tensor view(const at::Tensor& flat, const Parameter& parameter) {
  return flat.narrow(0, parameter.offset, parameter.count).view(parameter.spec.shape);
}

// Box and Muller: two uniform numbers make a normal one.
float normal(std::uint64_t key, std::uint64_t index) {
  const double u = 1.0 - uniform(key, 2 * index), v = uniform(key, 2 * index + 1);
  return static_cast<float>(std::sqrt(-2 * std::log(u)) * std::cos(2 * std::numbers::pi * v));
}

at::Tensor first_values(const ParameterSpec& spec, std::int64_t seed, double std) {
  auto values = at::empty(spec.shape, at::kFloat);
  if (spec.init == Init::zeros) return values.zero_();
  if (spec.init == Init::ones) return values.fill_(1);
  const auto key = combine(static_cast<std::uint64_t>(seed), key_of(spec.name));
  auto* to = values.data_ptr<float>();
  at::parallel_for(0, values.numel(), 1 << 14, [&](std::int64_t begin, std::int64_t end) {
    for (auto i = begin; i < end; ++i)
      to[i] = static_cast<float>(std) * normal(key, static_cast<std::uint64_t>(i));
  });
  return values;
}

}  // namespace

Parameters::Parameters(const std::vector<ParameterSpec>& specs, const ParameterOptions& options) {
  std::int64_t offset = 0;
  for (const auto& spec : specs) {
    Parameter parameter;
    parameter.spec = spec;
    parameter.offset = offset;
    parameter.count = elements(spec.shape);
    offset += (parameter.count + kAlign - 1) / kAlign * kAlign;
    all_.push_back(std::move(parameter));
  }
  const auto like = at::TensorOptions().device(options.device);
  const bool half = options.dtype != at::kFloat;
  const bool masters = half && options.master_weights;
  weights_ = at::zeros({offset}, like.dtype(options.dtype));
  masters_ = masters ? at::zeros({offset}, like.dtype(at::kFloat)) : weights_;
  gradients_ = at::zeros({offset}, like.dtype(half && !masters ? options.dtype : at::kFloat));
  for (auto& parameter : all_) {
    parameter.weight = view(weights_, parameter);
    parameter.master = view(masters_, parameter);
    parameter.gradient = view(gradients_, parameter);
  }
}

std::size_t Parameters::index(const std::string& name) const {
  for (std::size_t i = 0; i < all_.size(); ++i)
    if (all_[i].spec.name == name) return i;
  throw std::out_of_range("no parameter '" + name + "'");
}

void Parameters::zero_gradients() { gradients_.zero_(); }

void Parameters::copy_masters_to_weights() {
  if (has_masters()) weights_.copy_(masters_);
}

void Parameters::initialize(std::int64_t seed, double std, std::int64_t layers) {
  const double scaled = std / std::sqrt(2.0 * static_cast<double>(layers));
  for (auto& parameter : all_)
    parameter.master.copy_(first_values(parameter.spec, seed,
                                        parameter.spec.init == Init::scaled_normal ? scaled : std));
  copy_masters_to_weights();
}

}  // namespace orch::train
