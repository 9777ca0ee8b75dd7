#include "backends/runtime/model/parameters.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <stdexcept>

#include "backends/runtime/kernels/random.h"

namespace orch::train {
namespace {

std::int64_t elements(const std::vector<std::int64_t>& shape) {
  std::int64_t count = 1;
  for (const auto size : shape) count *= size;
  return count;
}

at::Tensor view(const at::Tensor& flat, const Parameter& parameter) {
  return flat.narrow(0, parameter.offset, parameter.count).view(parameter.shape);
}

// Box and Muller: two uniform numbers make a normal one.
float normal(std::uint64_t key, std::uint64_t index) {
  const double u = 1.0 - uniform(key, 2 * index), v = uniform(key, 2 * index + 1);
  return static_cast<float>(std::sqrt(-2 * std::log(u)) * std::cos(2 * std::numbers::pi * v));
}

void cut(Parameter& parameter, const Slice& slice) {
  parameter.shape = parameter.spec.shape;
  parameter.offsets.assign(parameter.shape.size(), 0);
  if (parameter.spec.split_dim < 0 || slice.size == 1) return;
  const auto dim = static_cast<std::size_t>(parameter.spec.split_dim);
  if (parameter.shape[dim] % slice.size != 0)
    throw std::invalid_argument(parameter.spec.name + " cannot be cut into " +
                                std::to_string(slice.size) + " equal slices");
  parameter.shape[dim] /= slice.size;
  parameter.offsets[dim] = slice.rank * parameter.shape[dim];
}

// Rows of the slice are ranges of the whole tensor's elements.
at::Tensor first_values(const Parameter& parameter, std::int64_t seed, double std) {
  const auto& spec = parameter.spec;
  auto values = at::empty(parameter.shape, at::kFloat);
  if (spec.init == Init::zeros) return values.zero_();
  if (spec.init == Init::ones) return values.fill_(1);
  const auto key = combine(static_cast<std::uint64_t>(seed), key_of(spec.name));
  const auto columns = parameter.shape.back(), stride = spec.shape.back();
  const auto first = parameter.offsets.front() * (spec.shape.size() > 1 ? stride : 1) +
                     (spec.shape.size() > 1 ? parameter.offsets.back() : 0);
  auto* to = values.data_ptr<float>();
  at::parallel_for(0, values.numel(), 1 << 14, [&](std::int64_t begin, std::int64_t end) {
    for (auto i = begin; i < end; ++i)
      to[i] = static_cast<float>(std) *
              normal(key, static_cast<std::uint64_t>(first + i / columns * stride + i % columns));
  });
  return values;
}

}  // namespace

ParameterLayout lay_out(const std::vector<ParameterSpec>& specs, const Slice& tensor,
                        std::int64_t align) {
  ParameterLayout layout;
  for (const auto& spec : specs) {
    Parameter parameter;
    parameter.spec = spec;
    cut(parameter, tensor);
    parameter.offset = layout.elements;
    parameter.count = elements(parameter.shape);
    layout.elements += (parameter.count + align - 1) / align * align;
    layout.all.push_back(std::move(parameter));
  }
  return layout;
}

Parameters::Parameters(ParameterLayout layout, const ParameterOptions& options)
    : all_(std::move(layout.all)) {
  const auto like = at::TensorOptions().device(options.device);
  const bool half = options.dtype != at::kFloat;
  const bool masters = half && options.master_weights;
  auto ranges = options.owned;
  if (ranges.empty()) ranges.push_back({0, layout.elements});
  std::int64_t updated = 0;
  for (const auto& range : ranges) updated += range.end - range.begin;
  weights_ = at::zeros({layout.elements}, like.dtype(options.dtype));
  masters_ = masters ? at::zeros({updated}, like.dtype(at::kFloat)) : weights_;
  gradients_ =
      at::zeros({layout.elements}, like.dtype(half && !masters ? options.dtype : at::kFloat));
  for (auto& parameter : all_) {
    parameter.weight = view(weights_, parameter);
    parameter.gradient = view(gradients_, parameter);
    if (masters_.numel() == layout.elements) parameter.master = view(masters_, parameter);
  }
  make_owned(ranges);
}

void Parameters::make_owned(const std::vector<Range>& ranges) {
  std::int64_t at = 0;  // of the masters
  for (const auto& range : ranges) {
    const auto count = range.end - range.begin;
    const auto part = [&](const at::Tensor& flat, std::int64_t first) {
      return flat.narrow(0, first, count);
    };
    Owned owned{range, part(masters_, has_masters() ? at : range.begin),
                has_masters() ? part(weights_, range.begin) : at::Tensor(),
                part(gradients_, range.begin), {}};
    for (std::size_t i = 0; i < all_.size(); ++i) {
      const auto first = std::max(range.begin, all_[i].offset);
      const auto end = std::min(range.end, all_[i].offset + all_[i].count);
      if (first < end)
        owned.segments.push_back(
            {i, first - all_[i].offset, end - all_[i].offset, first - range.begin});
    }
    owned_.push_back(std::move(owned));
    at += count;
  }
}

std::size_t Parameters::index(const std::string& name) const {
  for (std::size_t i = 0; i < all_.size(); ++i)
    if (all_[i].spec.name == name) return i;
  throw std::out_of_range("no parameter '" + name + "'");
}

bool Parameters::has(const std::string& name) const {
  return std::any_of(all_.begin(), all_.end(), [&](const auto& p) { return p.spec.name == name; });
}

void Parameters::zero_gradients() { gradients_.zero_(); }

void Parameters::copy_masters_to_weights() {
  for (const auto& owned : owned_)
    if (owned.weight.defined()) owned.weight.copy_(owned.master);
}

void Parameters::initialize(std::int64_t seed, double std, std::int64_t layers) {
  const double scaled = std / std::sqrt(2.0 * static_cast<double>(layers));
  for (std::size_t i = 0; i < all_.size(); ++i) {
    const auto& parameter = all_[i];
    const auto values =
        first_values(parameter, seed, parameter.spec.init == Init::scaled_normal ? scaled : std);
    parameter.weight.copy_(values);
    if (!has_masters()) continue;
    const auto flat = values.view({-1});
    for (const auto& owned : owned_)
      for (const auto& segment : owned.segments)
        if (segment.parameter == i) {
          const auto count = segment.end - segment.begin;
          owned.master.narrow(0, segment.at, count).copy_(flat.narrow(0, segment.begin, count));
        }
  }
}

}  // namespace orch::train
