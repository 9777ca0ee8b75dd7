#include "backends/runtime/model/parameters.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "backends/runtime/kernels/ops.h"
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

// Elements of the slice from `begin` on. Its rows are ranges of the whole tensor's elements.
void fill(const at::Tensor& to, const Parameter& parameter, std::int64_t begin, std::int64_t seed,
          double std) {
  const auto& spec = parameter.spec;
  if (spec.init == Init::zeros) return void(to.zero_());
  if (spec.init == Init::ones) return void(to.fill_(1));
  const bool is_matrix = spec.shape.size() > 1;
  const auto stride = spec.shape.back();
  ops::fill_normal(to, std,
                   {combine(static_cast<std::uint64_t>(seed), key_of(spec.name)),
                    parameter.offsets.front() * (is_matrix ? stride : 1) +
                        (is_matrix ? parameter.offsets.back() : 0),
                    parameter.shape.back(), stride, begin});
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
  const bool away = options.masters_on_host && !options.device.is_cpu();
  const bool masters = (half && options.master_weights) || away;
  auto ranges = options.owned;
  if (ranges.empty()) ranges.push_back({0, layout.elements});
  std::int64_t updated = 0;
  for (const auto& range : ranges) updated += range.end - range.begin;
  weights_ = at::zeros({options.whole_weights ? layout.elements : updated}, like.dtype(options.dtype));
  masters_ = masters ? at::zeros({updated}, (away ? like.device(at::kCPU) : like).dtype(at::kFloat))
                     : weights_;
  const bool wide = !half || (masters && options.wide_gradients);
  gradients_ = at::zeros({options.whole_gradients ? layout.elements : updated},
                         like.dtype(wide ? at::kFloat : options.dtype));
  for (auto& parameter : all_) {
    if (options.whole_weights) parameter.weight = view(weights_, parameter);
    if (options.whole_gradients) parameter.gradient = view(gradients_, parameter);
    if (masters_.numel() == layout.elements) parameter.master = view(masters_, parameter);
  }
  make_owned(ranges, options);
}

void Parameters::make_owned(const std::vector<Range>& ranges, const ParameterOptions& options) {
  std::int64_t at = 0;  // of the masters
  for (const auto& range : ranges) {
    const auto count = range.end - range.begin;
    const auto part = [&](const at::Tensor& flat, std::int64_t first) {
      return flat.narrow(0, first, count);
    };
    const auto in_weights = options.whole_weights ? range.begin : at;
    Owned owned{range, part(masters_, has_masters() ? at : in_weights),
                has_masters() ? part(weights_, in_weights) : at::Tensor(),
                part(gradients_, options.whole_gradients ? range.begin : at), {}};
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
    const auto spread = parameter.spec.init == Init::scaled_normal ? scaled : std;
    const bool whole = parameter.weight.defined();
    if (whole) fill(parameter.weight.view({-1}), parameter, 0, seed, spread);
    if (whole && !has_masters()) continue;
    for (const auto& owned : owned_)
      for (const auto& [which, begin, end, at] : owned.segments)
        if (which == i) fill(owned.master.narrow(0, at, end - begin), parameter, begin, seed, spread);
  }
  if (!all_.empty() && !all_.front().weight.defined()) copy_masters_to_weights();
}

}  // namespace orch::train
