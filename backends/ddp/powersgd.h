#pragma once

#include <array>
#include <vector>

#include "core/price/backend/share.h"

namespace orch::ddp {

// Compression of gradients on the network.
enum class Compression { none, fp16, bf16, powersgd };

struct Matrix {
  double rows = 0;
  double columns = 0;
  double elements() const { return rows * columns; }
};

// The weight matrices of a transformer layer: QKV, attention output, MLP up and down; and those at
// the ends: the word embedding and a separate head.
std::array<Matrix, 4> layer_matrices(const plan::Model& model);
std::vector<Matrix> end_matrices(const plan::Model& model);

// Low-rank compression of gradients (Vogels et al. 2019) as in PyTorch's hook: a matrix n x m is
// sent as its factors P (n x r) and Q (m x r), if that saves more than min_rate.
struct PowerSgd {
  double rank = 1;
  double min_rate = 2;

  bool compresses(Matrix matrix) const {
    return (matrix.rows + matrix.columns) * rank * min_rate < matrix.elements();
  }
  double sent(Matrix matrix) const {  // elements
    return compresses(matrix) ? (matrix.rows + matrix.columns) * rank : matrix.elements();
  }
};

}  // namespace orch::ddp
