#pragma once

#include "backends/runtime/comm/comm.h"
#include "core/plan/run.h"

namespace orch::train {

// A channel from one stage to another, for messages of one kind. A sender never waits for messages
// in the opposite direction, so that no order of messages can deadlock.
class Channel {
 public:
  Channel() = default;  // no channel
  explicit Channel(CommGroup* group) : group_(group) {}

  bool is_open() const { return group_ != nullptr; }
  PendingCollective send(const at::Tensor& tensor) { return group_->send(tensor, 1); }
  PendingCollective recv(const at::Tensor& tensor) { return group_->recv(tensor, 0); }

 private:
  CommGroup* group_ = nullptr;
};

// A rank's position on every axis, and the groups it belongs to. All ranks of the world create it
// together and connect at once: no connection is opened in the middle of a step.
class Mesh {
 public:
  // The number of data-parallel ranks follows from the world: a ramp-up may begin with fewer than
  // planned. ring: the last stage sends to the first one, for interleaved chunks. Throws CommError
  // if the ranks do not form whole replicas.
  Mesh(World& world, const plan::Layout& planned, bool ring = false);

  World& world() const { return world_; }
  int tensor_size() const { return tensor_size_; }
  int data_size() const { return data_size_; }
  int stages() const { return stages_; }
  int tensor_rank() const { return world_.rank() % tensor_size_; }
  int data_rank() const { return world_.rank() / tensor_size_ % data_size_; }
  int stage() const { return world_.rank() / tensor_size_ / data_size_; }
  bool is_first() const { return stage() == 0; }

  CommGroup& tensor() const { return *tensor_; }
  CommGroup& data() const { return *data_; }
  CommGroup* ends() const { return ends_; }  // the first and the last stage; null for others

  // Activations go down the stages, gradients go up. The ends have no channel, unless it is a ring.
  struct Channels {
    Channel from_previous, to_next;  // activations
    Channel from_next, to_previous;  // gradients
  };
  Channels& channels() { return channels_; }

 private:
  int rank_at(int tensor, int data, int stage) const;
  at::Tensor word() const;  // a dummy message
  void make_groups();
  void make_channels(int tensor, int data, bool ring);
  void make_channel(const char* kind, int tensor, int data, int from, int to, Channel& out,
                    Channel& in);

  World& world_;
  const int tensor_size_, stages_, data_size_;
  CommGroup* tensor_ = nullptr;
  CommGroup* data_ = nullptr;
  CommGroup* ends_ = nullptr;
  Channels channels_;
};

}  // namespace orch::train
