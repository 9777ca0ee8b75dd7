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

// The parameters that other ranks have as well: norms and some biases on all ranks that share a
// layer, the word embedding at both ends of the pipeline, and everything on other replicas.
class Replicas {
 public:
  // All must outlive it. shards: the replicas that each update a part; null: each updates
  // everything.
  Replicas(Mesh& mesh, const Parameters& parameters, bool sequence_parallel, CommGroup* shards,
           Profile& profile)
      : mesh_(mesh),
        parameters_(parameters),
        sequence_parallel_(sequence_parallel && mesh.tensor_size() > 1),
        shards_(shards && shards->size() > 1 ? shards : nullptr),
        profile_(profile) {}

  // True if an earlier replica (or group of them that shares one copy) counts the same values.
  bool is_repeated() const { return mesh_.data_rank() >= (shards_ ? shards_->size() : 1); }
  bool is_copy(std::size_t parameter) const;  // another rank's copy counts

  // After the replicas' reduction: makes gradients those of the whole model, equal on every rank.
  void add_up_gradients();

  // One reduction over all ranks of everything needed for decisions: the same bits on each. loss:
  // this rank's share of it. Throws CommError.
  AgreedTotals agree(const at::Tensor& loss, bool stop) const;
  // For an evaluation: the sum of the loss over all ranks. Throws CommError.
  double total(const at::Tensor& loss) const;
  // The squares that no other rank counts: one double on the device.
  at::Tensor squares() const;
  // This rank's share of a state that is written once: its own parts, or a share of what all
  // replicas have. Not copied if some of it is in host memory, which hardly has room for a copy.
  checkpoint::SavedState save(std::vector<StateTensor> state) const;
  // The squares of an owned range's gradients, if already known.
  std::function<std::optional<double>(std::size_t owned)> known_squares;
  // The options with which an optimizer sums over the parts of a parameter.
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
  CommGroup* const shards_;
  Profile& profile_;
};

}  // namespace orch::train
