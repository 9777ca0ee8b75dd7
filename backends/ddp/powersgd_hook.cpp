#include "backends/ddp/powersgd_hook.h"

#include <ATen/ATen.h>

#include <algorithm>

#include "backends/ddp/powersgd.h"
#include "backends/runtime/kernels/random.h"

namespace orch::ddp {
namespace {

// Uniform between -1 and 1, from the seed and the parameter's name alone: the same on all ranks.
at::Tensor random_rows(std::uint64_t seed, const std::string& name, at::IntArrayRef shape) {
  const auto key = train::combine(train::combine(seed, train::key_of(name)), 0);
  auto values = at::empty(shape, at::kFloat);
  auto* to = values.data_ptr<float>();
  for (std::int64_t i = 0; i < values.numel(); ++i)
    to[i] = 2 * train::uniform(key, static_cast<std::uint64_t>(i)) - 1;
  return values;
}

// Views of a flat buffer as [count, rank, length], one for each group of neighbours with the same
// shape.
std::vector<at::Tensor> batches(const at::Tensor& flat,
                                const std::vector<std::pair<std::int64_t, std::int64_t>>& shapes) {
  std::vector<at::Tensor> result;
  std::int64_t offset = 0;
  for (std::size_t i = 0, end = 0; i < shapes.size(); i = end) {
    const auto [rank, length] = shapes[i];
    while (end < shapes.size() && shapes[end] == shapes[i]) ++end;
    const auto count = static_cast<std::int64_t>(end - i);
    result.push_back(flat.narrow(0, offset, count * rank * length).view({count, rank, length}));
    offset += count * rank * length;
  }
  return result;
}

double bytes(const at::Tensor& tensor) {
  return tensor.defined() ? static_cast<double>(tensor.nbytes()) : 0;
}

}  // namespace

// Gram-Schmidt, on rows of length one, because gradients may be tiny. Each row is projected twice,
// since the first projection leaves rounding errors if it nearly depends on earlier rows. Of a
// dependent row only such errors remain, in a random direction: it becomes zero.
void orthogonalize(const at::Tensor& rows_BRN, double epsilon) {
  const auto length = [](const at::Tensor& row) { return row.norm(2, {2}, true); };
  rows_BRN.div_(length(rows_BRN).clamp_min_(1e-30));
  for (std::int64_t i = 0; i < rows_BRN.size(1); ++i) {
    const auto row = rows_BRN.narrow(1, i, 1), before = rows_BRN.narrow(1, 0, i);
    for (const double least : {1e-6, 0.5}) {  // fp32 rounds by 6e-8; twice is enough
      if (i > 0) {
        row.sub_(at::bmm(at::bmm(row, before.transpose(1, 2)), before));
        row.mul_(length(row) > least);
      }
      row.div_(length(row).clamp_min_(epsilon));
    }
  }
}

PowerSgdHook::Matrix PowerSgdHook::matrix_of(std::size_t parameter) const {
  const auto& shape = parameters_[parameter].spec.shape;
  const auto count = parameters_[parameter].count;
  Matrix matrix;
  matrix.parameter = parameter;
  matrix.rows = shape.empty() || count == 0 ? 1 : shape[0];
  matrix.columns = count / matrix.rows;
  matrix.rank = std::min({options_.rank, matrix.rows, matrix.columns});
  return matrix;
}

at::Tensor PowerSgdHook::gradient(const Matrix& matrix) const {
  return parameters_[matrix.parameter].gradient.view({matrix.rows, matrix.columns});
}

void PowerSgdHook::add_bucket(std::size_t first, std::size_t end) {
  const PowerSgd rule{static_cast<double>(options_.rank), options_.min_rate};
  auto& bucket = buckets_.emplace_back();
  for (auto i = first; i < end; ++i) {
    auto matrix = matrix_of(i);
    if (parameters_[i].spec.shape.size() < 2 ||
        !rule.compresses({static_cast<double>(matrix.rows), static_cast<double>(matrix.columns)})) {
      bucket.whole.push_back(i);
      continue;
    }
    if (options_.error_feedback) matrix.error = at::zeros_like(gradient(matrix));
    bucket.matrices.push_back(std::move(matrix));
  }
  lay_out(bucket);
}

// Matrices of the same shape are adjacent in the buffers of P and of Q, to be orthogonalised
// together.
void PowerSgdHook::lay_out(Bucket& bucket) {
  const auto like = parameters_.gradients().options().dtype(at::kFloat);
  const auto buffer = [&](std::int64_t Matrix::*length, at::Tensor Matrix::*view,
                          at::Tensor& flat) {
    std::vector<Matrix*> order;
    std::int64_t size = 0;
    for (auto& matrix : bucket.matrices) {
      order.push_back(&matrix);
      size += matrix.rank * (matrix.*length);
    }
    const auto shape = [&](const Matrix* m) { return std::pair(m->rank, m->*length); };
    std::stable_sort(order.begin(), order.end(),
                     [&](auto* a, auto* b) { return shape(a) < shape(b); });
    flat = at::zeros({size}, like);
    std::vector<std::pair<std::int64_t, std::int64_t>> shapes;
    std::int64_t offset = 0;
    for (auto* matrix : order) {
      shapes.push_back(shape(matrix));
      const auto [rank, columns] = shapes.back();
      matrix->*view = flat.narrow(0, offset, rank * columns).view({rank, columns});
      offset += rank * columns;
    }
    return batches(flat, shapes);
  };
  bucket.p_BRN = buffer(&Matrix::rows, &Matrix::p_RN, bucket.p);
  bucket.first_q_BRM = buffer(&Matrix::columns, &Matrix::q_RM, bucket.first_q);
  for (auto& matrix : bucket.matrices)
    matrix.q_RM.copy_(
        random_rows(options_.seed, parameters_[matrix.parameter].spec.name, matrix.q_RM.sizes()));
  bucket.q_BRM = buffer(&Matrix::columns, &Matrix::q_RM, bucket.q);  // zeros, filled later
}

// Rows that are zero (nothing has been sent yet, or the parameter was not used) or not finite (a
// skipped step) get new random values: zero rows would stay zero.
void PowerSgdHook::refresh_q(Bucket& bucket) {
  for (std::size_t i = 0; i < bucket.q_BRM.size(); ++i) {
    const auto& q = bucket.q_BRM[i];
    const auto length = q.norm(2, {2}, true);
    const auto good = at::isfinite(length).logical_and_(length > 0);
    q.copy_(at::where(good, q, bucket.first_q_BRM[i]));
    orthogonalize(q, options_.epsilon);
  }
}

double PowerSgdHook::launch(std::size_t index) {
  auto& bucket = buckets_[index];
  refresh_q(bucket);
  send_rest(bucket);
  send_p(bucket);
  if (index > 0) send_q(buckets_[index - 1]);
  return bytes(bucket.p) + bytes(bucket.q) + bytes(bucket.first_q) + bytes(bucket.rest);
}

void PowerSgdHook::send_rest(Bucket& bucket) {
  if (bucket.whole.empty()) return;
  std::vector<at::Tensor> parts;
  for (const auto i : bucket.whole) parts.push_back(parameters_[i].gradient.view({-1}));
  bucket.rest = at::cat(parts);
  bucket.rest_sent = data_.all_reduce(bucket.rest);
}

void PowerSgdHook::send_p(Bucket& bucket) {
  if (bucket.matrices.empty()) return;
  for (auto& matrix : bucket.matrices) {
    const auto m_NM = gradient(matrix);
    if (matrix.error.defined()) m_NM.add_(matrix.error);
    at::mm_out(matrix.p_RN, matrix.q_RM, m_NM.to(at::kFloat).t());
  }
  bucket.p_sent = data_.all_reduce(bucket.p);
}

void PowerSgdHook::send_q(Bucket& bucket) {
  if (bucket.matrices.empty()) return;
  bucket.p_sent.wait();
  for (const auto& p : bucket.p_BRN) orthogonalize(p, options_.epsilon);
  for (auto& matrix : bucket.matrices)
    at::mm_out(matrix.q_RM, matrix.p_RN, gradient(matrix).to(at::kFloat));
  bucket.q_sent = data_.all_reduce(bucket.q);
}

void PowerSgdHook::finish() {
  send_q(buckets_.back());
  for (auto& bucket : buckets_) decompress(bucket);
}

void PowerSgdHook::decompress(Bucket& bucket) {
  if (!bucket.matrices.empty()) {
    bucket.q_sent.wait();
    bucket.q.div_(data_.size());
    for (auto& matrix : bucket.matrices) decompress(matrix);
  }
  if (bucket.whole.empty()) return;
  bucket.rest_sent.wait();
  bucket.rest.div_(data_.size());
  std::int64_t offset = 0;
  for (const auto i : bucket.whole) {
    const auto& parameter = parameters_[i];
    parameter.gradient.view({-1}).copy_(bucket.rest.narrow(0, offset, parameter.count));
    offset += parameter.count;
  }
  bucket.rest.reset();
}

void PowerSgdHook::decompress(Matrix& matrix) {
  auto m_NM = gradient(matrix);
  if (matrix.error.defined()) {
    const auto left_NM = m_NM.to(at::kFloat).addmm_(matrix.p_RN.t(), matrix.q_RM, 1, -1);
    const auto good = at::isfinite(matrix.q_RM).all();
    matrix.error.copy_(at::where(good, left_NM.to(m_NM.scalar_type()), matrix.error));
  }
  if (m_NM.scalar_type() == at::kFloat)
    at::mm_out(m_NM, matrix.p_RN.t(), matrix.q_RM);
  else
    m_NM.copy_(at::mm(matrix.p_RN.t(), matrix.q_RM));
}

std::vector<train::OptimizerState> PowerSgdHook::states() {
  std::vector<train::OptimizerState> all;
  for (auto& bucket : buckets_)
    for (auto& matrix : bucket.matrices) {
      if (matrix.error.defined()) all.push_back({"error", matrix.parameter, matrix.error});
      all.push_back({"q", matrix.parameter, matrix.q_RM});
    }
  return all;
}

double PowerSgdHook::error_bytes() const {
  double total = 0;
  for (const auto& bucket : buckets_)
    for (const auto& matrix : bucket.matrices) total += bytes(matrix.error);
  return total;
}

}  // namespace orch::ddp
