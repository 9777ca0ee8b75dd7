#include "backends/runtime/model/parameters.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <utility>

#include "backends/runtime/host/memory.h"
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

void cut(Parameter& parameter, const ParameterSlice& slice) {
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

// Fills elements of the slice, beginning at `begin`. Its rows are ranges of the whole tensor's
// elements.
void fill(const at::Tensor& to, const Parameter& parameter, std::int64_t begin, std::int64_t seed,
          double std) {
  const auto& spec = parameter.spec;
  if (spec.init == WeightInit::zeros) return void(to.zero_());
  if (spec.init == WeightInit::ones) return void(to.fill_(1));
  const bool is_matrix = spec.shape.size() > 1;
  const auto stride = spec.shape.back();
  ops::fill_normal(to, std,
                   {combine(static_cast<std::uint64_t>(seed), key_of(spec.name)),
                    parameter.offsets.front() * (is_matrix ? stride : 1) +
                        (is_matrix ? parameter.offsets.back() : 0),
                    parameter.shape.back(), stride, begin});
}

// The same for host memory: the device generates the numbers in parts, which is much faster.
void fill_by(at::Device device, const at::Tensor& to, const Parameter& parameter,
             std::int64_t begin, std::int64_t seed, double std) {
  if (device == to.device()) return fill(to, parameter, begin, seed, std);
  constexpr std::int64_t kPart = 1 << 26;
  for (std::int64_t at = 0; at < to.numel(); at += kPart) {
    const auto part = to.narrow(0, at, std::min(kPart, to.numel() - at));
    const auto drawn = at::empty(part.sizes(), part.options().device(device));
    fill(drawn, parameter, begin + at, seed, std);
    part.copy_(drawn);
  }
}

}  // namespace

ParameterLayout lay_out(const std::vector<ParameterSpec>& specs, const ParameterSlice& tensor,
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
  std::int64_t here = 0, away = 0;  // elements to update, on the device and on the host
  for (std::size_t i = 0; i < ranges.size(); ++i)
    (i < options.on_host ? away : here) += ranges[i].end - ranges[i].begin;
  const auto stored = here + (options.away ? 0 : away);
  weights_ =
      at::zeros({options.whole_weights ? layout.elements : stored}, like.dtype(options.dtype));
  // A pipeline stage may have no parameters: then buffers are empty, with the types of the other
  // stages.
  const bool all_away = here == 0 && away > 0;
  masters_ = masters && !all_away ? at::zeros({here}, like.dtype(at::kFloat)) : weights_;
  const auto summed =
      !half || ((masters || away > 0) && options.wide_gradients) ? at::kFloat : options.dtype;
  gradients_ = at::zeros({options.whole_gradients ? layout.elements : stored}, like.dtype(summed));
  if (options.on_host > 0) host_masters_ = host_zeros(away, at::kFloat);
  if (options.away) {
    host_weights_ = pinned_zeros(away, options.dtype, options.device);
    host_gradients_ = host_zeros(away, summed);
  }
  for (auto& parameter : all_) {
    if (options.whole_weights) parameter.weight = view(weights_, parameter);
    if (options.whole_gradients) parameter.gradient = view(gradients_, parameter);
    if (masters_.numel() == layout.elements) parameter.master = view(masters_, parameter);
  }
  make_owned(ranges, options);
}

void Parameters::make_owned(const std::vector<ElementRange>& ranges,
                            const ParameterOptions& options) {
  std::int64_t at = 0, at_host = 0, at_master = 0;  // positions in owned ranges on device, host
  for (const auto& range : ranges) {
    const auto count = range.end - range.begin;
    const auto part = [&](const at::Tensor& flat, std::int64_t first) {
      return flat.narrow(0, first, count);
    };
    const bool on_host = owned_.size() < options.on_host, away = on_host && options.away;
    OwnedRange owned;
    owned.range = range;
    owned.on_host = on_host;
    owned.is_away = away;
    owned.weight = away ? part(host_weights_, at_host)
                        : part(weights_, options.whole_weights ? range.begin : at);
    owned.gradient = away ? part(host_gradients_, at_host)
                          : part(gradients_, options.whole_gradients ? range.begin : at);
    if (on_host)
      owned.master = part(host_masters_, at_host);
    else if (has_masters())
      owned.master = part(masters_, at_master);
    else
      owned.master = std::exchange(owned.weight, {});
    for (std::size_t i = 0; i < all_.size(); ++i) {
      const auto first = std::max(range.begin, all_[i].offset);
      const auto end = std::min(range.end, all_[i].offset + all_[i].count);
      if (first < end)
        owned.segments.push_back(
            {i, first - all_[i].offset, end - all_[i].offset, first - range.begin});
    }
    owned_.push_back(std::move(owned));
    if (!away) at += count;
    (on_host ? at_host : at_master) += count;
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

void Parameters::zero_gradients(std::size_t first, std::size_t end) {
  std::vector<at::Tensor> others;
  for (auto i = first; i < end; ++i) {
    if (all_[i].is_stale) throw std::logic_error("no gradient of " + all_[i].spec.name);
    all_[i].is_stale = all_[i].shape.size() > 1;
    if (!all_[i].is_stale) others.push_back(all_[i].gradient);
  }
  if (!others.empty()) at::_foreach_zero_(others);
}

void Parameters::copy_masters_to_weights() {
  for (const auto& owned : owned_)
    if (owned.weight.defined()) owned.weight.copy_(owned.master);
}

void Parameters::initialize(std::int64_t seed, double std, std::int64_t layers) {
  const double scaled = std / std::sqrt(2.0 * static_cast<double>(layers));
  for (std::size_t i = 0; i < all_.size(); ++i) {
    const auto& parameter = all_[i];
    const auto spread = parameter.spec.init == WeightInit::scaled_normal ? scaled : std;
    const bool whole = parameter.weight.defined();
    if (whole) fill(parameter.weight.view({-1}), parameter, 0, seed, spread);
    for (const auto& owned : owned_)
      for (const auto& [which, begin, end, at] : owned.segments)
        if (which == i && !(whole && !owned.weight.defined()))
          fill_by(weights_.device(), owned.master.narrow(0, at, end - begin), parameter, begin,
                  seed, spread);
  }
  if (!all_.empty() && !all_.front().weight.defined()) copy_masters_to_weights();
}

}  // namespace orch::train
