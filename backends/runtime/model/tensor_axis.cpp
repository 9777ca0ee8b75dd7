#include "backends/runtime/model/tensor_axis.h"

#include <ATen/ATen.h>

namespace orch::train {
namespace {

at::Tensor rows_like(const at::Tensor& like, std::int64_t rows) {
  auto sizes = like.sizes().vec();
  sizes[0] = rows;
  return at::empty(sizes, like.options());
}

}  // namespace

at::Tensor ArrivingTensor::take() {
  Profile::Scope scope(profile_, item_);
  pending_.wait();
  return std::move(tensor_);
}

ArrivingTensor TensorAxis::gather(const at::Tensor& mine) const {
  if (!shares_rows()) return ArrivingTensor(mine);
  return from_shares(mine);
}

ArrivingTensor TensorAxis::from_shares(const at::Tensor& share) const {
  Profile::Scope scope(profile_, "sequence all-gather");
  const auto all = rows_like(share, share.size(0) * size());
  return {all, group_->all_gather(all, share.contiguous()), profile_, "sequence all-gather"};
}

ArrivingTensor TensorAxis::reduce(const at::Tensor& partial) const {
  if (is_alone()) return ArrivingTensor(partial);
  if (!sequence_) {
    Profile::Scope scope(profile_, "tensor all-reduce");
    return {partial, group_->all_reduce(partial), profile_, "tensor all-reduce"};
  }
  Profile::Scope scope(profile_, "sequence reduce-scatter");
  const auto mine = rows_like(partial, partial.size(0) / size());
  return {mine, group_->reduce_scatter(mine, partial), profile_, "sequence reduce-scatter"};
}

at::Tensor TensorAxis::all_of(const at::Tensor& mine, const char* item) const {
  Profile::Scope scope(profile_, item);
  auto sizes = mine.sizes().vec();
  sizes.insert(sizes.begin(), size());
  const auto all = at::empty(sizes, mine.options());
  group_->all_gather(all, mine).wait();
  return all;
}

at::Tensor TensorAxis::share_of(const at::Tensor& rows) const {
  const auto count = rows.size(0) / size();
  return rows.narrow(0, rank() * count, count);
}

}  // namespace orch::train
