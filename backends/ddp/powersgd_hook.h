#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>
#include <vector>

#include "backends/runtime/comm/comm.h"
#include "backends/runtime/model/parameters.h"
#include "backends/runtime/step/optimizer.h"
#include "backends/runtime/step/reducer.h"

namespace orch::ddp {

struct PowerSgdOptions {
  std::int64_t rank = 1;
  double min_rate = 2;      // a matrix is compressed if that saves more than this factor
  std::int64_t start = 10;  // number of first steps without compression
  bool error_feedback = true;
  double epsilon = 1e-8;  // for the orthogonalisation
  std::uint64_t seed = 0;
};

// PowerSGD (Vogels et al. 2019) as in PyTorch's hook. The gradient M of a parameter, plus what
// earlier steps failed to send, is a matrix [shape[0], rest]; ranks agree on M ~ P Q' by one step
// of power iteration:
//   P = sum of M Q, orthonormal columns; Q = mean of M' P; the gradient becomes P Q', the error M -
//   P Q'.
// Per bucket there is one collective for all P, one for all Q, and one for what is not compressed.
// A gradient that is not finite makes its whole compressed gradient NaN, and leaves its error
// unchanged. For the other matrices of a skipped step, what was sent is lost, like the step.
class PowerSgdHook : public train::BucketHook {
 public:
  // All must outlive the hook.
  PowerSgdHook(train::Parameters& parameters, train::CommGroup& data,
               const PowerSgdOptions& options)
      : parameters_(parameters), data_(data), options_(options) {}

  void add_bucket(std::size_t first, std::size_t end) override;
  bool is_used_at(std::int64_t step) const override { return step > options_.start; }

  // Sends P of this bucket, then Q of the previous one: this order is the same on all ranks, and
  // the P of the previous one has most likely arrived by then. Buckets come in order. Returns the
  // bytes of buffers.
  double launch(std::size_t bucket) override;
  void finish() override;

  // With these states, a resumed training gives the same bits. On another number of ranks every
  // rank takes the mean of all errors: the mean, which the ranks together still have to send, stays
  // the same. Kinds: "error", which differs between ranks, and "q", the same on all.
  std::vector<train::OptimizerState> states();
  double error_bytes() const;

 private:
  struct Matrix {
    std::size_t parameter = 0;
    std::int64_t rows = 0, columns = 0, rank = 0;
    at::Tensor p_RN, q_RM;  // transposed, views into the bucket's buffers
    at::Tensor error;
  };
  struct Bucket {
    std::vector<Matrix> matrices;
    std::vector<std::size_t> whole;        // parameters without compression
    at::Tensor p, q, first_q;              // flat
    std::vector<at::Tensor> p_BRN, q_BRM;  // the same, batched by shape
    std::vector<at::Tensor> first_q_BRM;
    at::Tensor rest;
    train::PendingCollective p_sent, q_sent, rest_sent;
  };

  Matrix matrix_of(std::size_t parameter) const;
  at::Tensor gradient(const Matrix& matrix) const;
  void lay_out(Bucket& bucket);
  void refresh_q(Bucket& bucket);
  void send_p(Bucket& bucket);
  void send_rest(Bucket& bucket);
  void send_q(Bucket& bucket);
  void decompress(Bucket& bucket);
  void decompress(Matrix& matrix);

  train::Parameters& parameters_;
  train::CommGroup& data_;
  const PowerSgdOptions options_;
  std::vector<Bucket> buckets_;
};

// Makes the rows of each matrix orthonormal; rows that depend on earlier ones become zero.
void orthogonalize(const at::Tensor& rows_BRN, double epsilon);

}  // namespace orch::ddp
