#pragma once

#include "backends/runtime/comm/comm.h"
#include "backends/runtime/model/profile.h"

namespace orch::train {

// A tensor being received from the other ranks of the axis.
class ArrivingTensor {
 public:
  explicit ArrivingTensor(at::Tensor tensor) : tensor_(std::move(tensor)) {}
  ArrivingTensor(at::Tensor tensor, PendingCollective pending, Profile* profile, const char* item)
      : tensor_(std::move(tensor)), pending_(std::move(pending)), profile_(profile), item_(item) {}

  at::Tensor take();  // waits

 private:
  at::Tensor tensor_;
  PendingCollective pending_;
  Profile* profile_ = nullptr;
  const char* item_ = "";
};

// A rank's position on the tensor axis. Between the products of a block, each rank has all rows
// (tokens), or, with sequence parallelism, its own share of them. Without other ranks it costs
// nothing.
class TensorAxis {
 public:
  TensorAxis() = default;  // without other ranks
  TensorAxis(CommGroup& group, bool sequence, Profile* profile)
      : group_(group.size() > 1 ? &group : nullptr), sequence_(sequence), profile_(profile) {}

  std::int64_t size() const { return group_ ? group_->size() : 1; }
  std::int64_t rank() const { return group_ ? group_->rank() : 0; }
  bool shares_rows() const { return group_ && sequence_; }
  bool is_alone() const { return !group_; }

  // The size of this rank's share of the rows, and its first row.
  std::int64_t rows(std::int64_t all) const { return shares_rows() ? all / size() : all; }
  std::int64_t first_row(std::int64_t all) const { return shares_rows() ? rank() * rows(all) : 0; }

  // Before a column-parallel product: gathers all rows.
  ArrivingTensor gather(const at::Tensor& mine) const;
  // After a row-parallel product: the sum over the axis, of this rank's rows. Takes ownership of
  // the tensor.
  ArrivingTensor reduce(const at::Tensor& partial) const;
  // Gathers each rank's `mine` to [size, ...].
  at::Tensor all_of(const at::Tensor& mine, const char* item) const;
  // For rows that are the same on all ranks: takes this rank's share, and restores all rows from
  // the shares.
  at::Tensor share_of(const at::Tensor& rows) const;
  ArrivingTensor from_shares(const at::Tensor& share) const;

 private:
  CommGroup* group_ = nullptr;
  bool sequence_ = false;
  Profile* profile_ = nullptr;
};

}  // namespace orch::train
