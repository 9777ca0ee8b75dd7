#pragma once

#include <functional>
#include <optional>

#include "backends/runtime/comm/mesh.h"
#include "backends/runtime/model/parameters.h"
#include "backends/runtime/model/profile.h"
#include "backends/runtime/step/engine.h"
#include "backends/runtime/step/optimizer.h"
#include "backends/runtime/step/state.h"

namespace orch::train {

// What of a rank's parameters other ranks have as well: norms and some biases on all ranks that
// share a layer, the words at both ends of the pipeline, and all of it on other replicas.
class Replicas {
 public:
  // All outlive it. shards: the replicas that update a part each; null: each updates all of it.
  Replicas(Mesh& mesh, const Parameters& parameters, bool sequence_parallel, Group* shards,
           Profile& profile)
      : mesh_(mesh),
        parameters_(parameters),
        sequence_parallel_(sequence_parallel && mesh.tensor_size() > 1),
        shards_(shards && shards->size() > 1 ? shards : nullptr),
        profile_(profile) {}

  // Whether replicas before this one (or groups of them that share one copy) count the same.
  bool is_repeated() const { return mesh_.data_rank() >= (shards_ ? shards_->size() : 1); }
  bool is_copy(std::size_t parameter) const;  // another rank's counts

  // After the replicas' reduction: gradients become those of the whole model, on every rank alike.
  void add_up_gradients();

  // One reduction over all ranks for all that they must know before they decide: the same bits on
  // each. loss: this rank's share of it. Throws CommError.
  Agreed agree(const at::Tensor& loss, bool stop) const;
  // Of an evaluation: the sum over all ranks of what each has of the loss. Throws CommError.
  double total(const at::Tensor& loss) const;
  // Of what no other rank counts: one double on the device.
  at::Tensor squares() const;
  // This rank's share of a state that is written once: of its own parts, or of what all replicas
  // have. Not copied where some of it is on the host, which hardly has room for another.
  checkpoint::Saved save(std::vector<StateTensor> state) const;
  // Of an owned range's gradients, where somebody knows them already.
  std::function<std::optional<double>(std::size_t owned)> known_squares;
  // How an optimizer sums over the parts of a parameter.
  OptimizerOptions sums() const;

 private:
  void add_shared();
  void wait_for_stages();
  void add_tied();
  void sum(const at::Tensor& buffer) const;
  void agree(std::size_t parameter, const at::Tensor& buffer) const;

  Mesh& mesh_;
  const Parameters& parameters_;
  const bool sequence_parallel_;
  Group* const shards_;
  Profile& profile_;
};

}  // namespace orch::train
