#pragma once

#include "backends/runtime/comm/comm.h"
#include "backends/runtime/model/profile.h"

namespace orch::train {

// A tensor on its way from the other ranks of the axis.
class Arriving {
 public:
  explicit Arriving(at::Tensor tensor) : tensor_(std::move(tensor)) {}
  Arriving(at::Tensor tensor, Pending pending, Profile* profile, const char* item)
      : tensor_(std::move(tensor)), pending_(std::move(pending)), profile_(profile), item_(item) {}

  at::Tensor take();  // waits

 private:
  at::Tensor tensor_;
  Pending pending_;
  Profile* profile_ = nullptr;
  const char* item_ = "";
};

// A rank's place among those that share each layer. Between the products of a block, each has all
// rows (tokens), or, with sequence parallelism, its own share of them. Alone it costs nothing.
class TensorAxis {
 public:
  TensorAxis() = default;  // alone
  TensorAxis(Group& group, bool sequence, Profile* profile)
      : group_(group.size() > 1 ? &group : nullptr), sequence_(sequence), profile_(profile) {}

  std::int64_t size() const { return group_ ? group_->size() : 1; }
  std::int64_t rank() const { return group_ ? group_->rank() : 0; }
  bool shares_rows() const { return group_ && sequence_; }
  bool is_alone() const { return !group_; }

  // This rank's share of so many rows, and the first of them.
  std::int64_t rows(std::int64_t all) const { return shares_rows() ? all / size() : all; }
  std::int64_t first_row(std::int64_t all) const { return shares_rows() ? rank() * rows(all) : 0; }

  // In front of a product that is cut by columns: all rows.
  Arriving gather(const at::Tensor& mine) const;
  // Behind one that is cut by rows: the sum over the axis, of this rank's rows. Takes the tensor
  // over.
  Arriving reduce(const at::Tensor& partial) const;
  // Each rank's `mine`, [size, ...].
  at::Tensor all_of(const at::Tensor& mine, const char* item) const;
  // Of rows that are the same on all ranks: a share of them, and all of them from the shares.
  at::Tensor share_of(const at::Tensor& rows) const;
  Arriving from_shares(const at::Tensor& share) const;

 private:
  Group* group_ = nullptr;
  bool sequence_ = false;
  Profile* profile_ = nullptr;
};

}  // namespace orch::train
