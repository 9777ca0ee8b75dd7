#pragma once

#include "backends/runtime/comm/mesh.h"
#include "backends/runtime/model/parameters.h"
#include "backends/runtime/model/profile.h"
#include "backends/runtime/step/optimizer.h"

namespace orch::megatron {

// What of a rank's parameters other ranks have as well: norms and some biases on all ranks that share
// a layer, the words at both ends of the pipeline, and all of it on other replicas.
class Replicas {
 public:
  // All outlive it. sharded: each replica updates its own part.
  Replicas(train::Mesh& mesh, const train::Parameters& parameters, bool sequence_parallel, bool sharded,
           train::Profile& profile)
      : mesh_(mesh),
        parameters_(parameters),
        sequence_parallel_(sequence_parallel && mesh.tensor_size() > 1),
        sharded_(sharded),
        profile_(profile) {}

  bool is_copy(std::size_t parameter) const;  // another rank's counts

  // After the replicas' reduction: gradients become those of the whole model, on every rank alike.
  void add_up_gradients();
  // Of what no other rank counts: one double on the device.
  at::Tensor squares() const;
  // How an optimizer sums over the parts of a parameter.
  train::OptimizerOptions sums() const;

 private:
  void add_shared();
  void wait_for_stages();
  void add_tied();
  void sum(const at::Tensor& buffer) const;
  void agree(std::size_t parameter, const at::Tensor& buffer) const;

  train::Mesh& mesh_;
  const train::Parameters& parameters_;
  const bool sequence_parallel_, sharded_;
  train::Profile& profile_;
};

}  // namespace orch::megatron
