#include "backends/runtime/comm/mesh.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

namespace orch::train {

Mesh::Mesh(World& world, const plan::Layout& planned, bool ring)
    : world_(world),
      tensor_size_(static_cast<int>(planned.tensor_parallel)),
      stages_(static_cast<int>(planned.pipeline_parallel)),
      data_size_(world.size() / (tensor_size_ * stages_)) {
  if (data_size_ == 0 || tensor_size_ * stages_ * data_size_ != world.size())
    throw CommError(
        fmt::format("{} ranks are not a multiple of tensor_parallel {} x pipeline_parallel {}: "
                    "start the number of ranks that was planned",
                    world.size(), tensor_size_, stages_));
  make_groups();
  for (int d = 0; d < data_size_ && stages_ > 1; ++d)
    for (int t = 0; t < tensor_size_; ++t) make_channels(t, d, ring);
  world.world().barrier();
}

at::Tensor Mesh::word() const {
  return at::zeros({1}, at::TensorOptions().dtype(at::kFloat).device(world_.device()));
}

int Mesh::rank_at(int tensor, int data, int stage) const {
  return tensor + tensor_size_ * (data + data_size_ * stage);
}

// Every rank creates the same groups in the same order. An axis with all ranks on it is the world.
// The first collective opens a group's connection: otherwise NCCL would open it while a recv waits
// on the device.
void Mesh::make_groups() {
  const auto make = [&](const char* name, const std::vector<int>& ranks, CommGroup*& mine) {
    const bool all = static_cast<int>(ranks.size()) == world_.size();
    auto* made = all ? &world_.world() : world_.make_group(name, ranks);
    if (!made) return;
    mine = made;
    if (made->size() > 1) made->all_reduce(word()).wait();
  };
  for (int p = 0; p < stages_; ++p)
    for (int d = 0; d < data_size_; ++d) {
      std::vector<int> ranks;
      for (int t = 0; t < tensor_size_; ++t) ranks.push_back(rank_at(t, d, p));
      make("tensor", ranks, tensor_);
    }
  for (int p = 0; p < stages_; ++p)
    for (int t = 0; t < tensor_size_; ++t) {
      std::vector<int> ranks;
      for (int d = 0; d < data_size_; ++d) ranks.push_back(rank_at(t, d, p));
      make("data", ranks, data_);
    }
  if (stages_ == 1) return;
  for (int d = 0; d < data_size_; ++d)
    for (int t = 0; t < tensor_size_; ++t)
      make("ends", {rank_at(t, d, 0), rank_at(t, d, stages_ - 1)}, ends_);
}

void Mesh::make_channels(int tensor, int data, bool ring) {
  const int hops = ring ? stages_ : stages_ - 1;
  for (int from = 0; from < hops; ++from) {
    const int to = (from + 1) % stages_;
    make_channel("down", tensor, data, from, to, channels_.to_next, channels_.from_previous);
    make_channel("up", tensor, data, to, from, channels_.to_previous, channels_.from_next);
  }
}

// The first message opens the connection: otherwise NCCL would open it in the middle of a schedule.
void Mesh::make_channel(const char* kind, int tensor, int data, int from, int to, Channel& out,
                        Channel& in) {
  const int sender = rank_at(tensor, data, from), receiver = rank_at(tensor, data, to);
  auto* group = world_.make_channel(fmt::format("{} {}→{}", kind, from, to), sender, receiver);
  if (!group) return;
  auto& mine = world_.rank() == sender ? out : in;
  mine = Channel(group);
  (world_.rank() == sender ? mine.send(word()) : mine.recv(word())).wait();
}

}  // namespace orch::train
