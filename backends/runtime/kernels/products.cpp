#include <ATen/ATen.h>
#include <ATen/cuda/CUDAContext.h>
#include <ATen/cuda/CUDAEvent.h>
#include <cublasLt.h>

#include <algorithm>
#include <array>
#include <map>
#include <mutex>
#include <stdexcept>
#include <string>
#include <tuple>
#include <vector>

#include "backends/runtime/kernels/kernels.h"

// Products of 16-bit factors by cublasLt: accumulating into fp32, with bias, GELU or its derivative
// in the epilogue, and with the algorithm that was the fastest when a shape first occurred.
namespace orch::train::cuda {
namespace {

constexpr std::size_t kWorkspace = 32 << 20;
constexpr std::uint32_t kAlignment = 16;      // bytes, for every factor and sum
constexpr std::size_t kMostKept = 256 << 20;  // bytes of a sum, saved while algorithms are tried
constexpr std::int64_t kWidened = 8 << 20;    // elements

void check(cublasStatus_t status, const char* doing) {
  if (status != CUBLAS_STATUS_SUCCESS)
    throw std::runtime_error(std::string("cublasLt: ") + doing + ": " +
                             cublasLtGetStatusString(status));
}

cudaDataType type_of(const at::Tensor& tensor) {
  switch (tensor.scalar_type()) {
    case at::kBFloat16:
      return CUDA_R_16BF;
    case at::kHalf:
      return CUDA_R_16F;
    default:
      return CUDA_R_32F;
  }
}

// D = A' or A times B' or B, in cublasLt's column-major notation.
struct MatrixProduct {
  cublasOperation_t a_op, b_op;
  std::int64_t m, n, k;
  cudaDataType in, out;
  cublasLtEpilogue_t epilogue;

  auto key() const { return std::tuple(a_op, b_op, m, n, k, in, out, epilogue); }
  bool operator<(const MatrixProduct& other) const { return key() < other.key(); }
};

struct Algorithm {
  cublasLtMatmulAlgo_t how;
  std::size_t workspace = 0;
};

struct ProductPlan {
  cublasLtMatmulDesc_t description = nullptr;
  cublasLtMatrixLayout_t a = nullptr, b = nullptr, d = nullptr;
  Algorithm algorithm;
  std::vector<Algorithm> others;  // not tried yet
};

template <class T>
void set(cublasLtMatmulDesc_t description, cublasLtMatmulDescAttributes_t attribute, T value) {
  check(cublasLtMatmulDescSetAttribute(description, attribute, &value, sizeof value), "attribute");
}

cublasLtMatrixLayout_t layout(cudaDataType type, std::int64_t rows, std::int64_t columns) {
  cublasLtMatrixLayout_t out = nullptr;
  check(cublasLtMatrixLayoutCreate(&out, type, static_cast<std::uint64_t>(rows),
                                   static_cast<std::uint64_t>(columns), rows),
        "layout");
  return out;
}

// cublasLt's proposals, the likely fastest first.
std::vector<Algorithm> proposals(cublasLtHandle_t handle, const ProductPlan& plan,
                                 std::size_t workspace) {
  cublasLtMatmulPreference_t preference = nullptr;
  check(cublasLtMatmulPreferenceCreate(&preference), "preference");
  check(cublasLtMatmulPreferenceSetAttribute(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
                                             &workspace, sizeof workspace),
        "workspace");
  // The alignment of the actual pointers must not affect the choice of the algorithm.
  for (const auto who :
       {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
        CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES})
    check(cublasLtMatmulPreferenceSetAttribute(preference, who, &kAlignment, sizeof kAlignment),
          "alignment");
  std::array<cublasLtMatmulHeuristicResult_t, 16> found = {};
  int count = 0;
  const auto status = cublasLtMatmulAlgoGetHeuristic(
      handle, plan.description, plan.a, plan.b, plan.d, plan.d, preference,
      static_cast<int>(found.size()), found.data(), &count);
  cublasLtMatmulPreferenceDestroy(preference);
  if (status == CUBLAS_STATUS_NOT_SUPPORTED)
    count = 0;
  else
    check(status, "algorithms");
  std::vector<Algorithm> all;
  for (int i = 0; i < count; ++i)
    all.push_back({found[static_cast<std::size_t>(i)].algo, workspace});
  return all;
}

ProductPlan make_plan(cublasLtHandle_t handle, const MatrixProduct& product) {
  ProductPlan plan;
  check(cublasLtMatmulDescCreate(&plan.description, CUBLAS_COMPUTE_32F, CUDA_R_32F), "description");
  set(plan.description, CUBLASLT_MATMUL_DESC_TRANSA, product.a_op);
  set(plan.description, CUBLASLT_MATMUL_DESC_TRANSB, product.b_op);
  set(plan.description, CUBLASLT_MATMUL_DESC_EPILOGUE, product.epilogue);
  if (product.epilogue != CUBLASLT_EPILOGUE_DEFAULT && product.epilogue != CUBLASLT_EPILOGUE_BIAS)
    set(plan.description, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, product.m);
  const auto a_rows = product.a_op == CUBLAS_OP_N ? product.m : product.k;
  const auto b_rows = product.b_op == CUBLAS_OP_N ? product.k : product.n;
  plan.a = layout(product.in, a_rows, product.m + product.k - a_rows);
  plan.b = layout(product.in, b_rows, product.k + product.n - b_rows);
  plan.d = layout(product.out, product.m, product.n);
  plan.others = proposals(handle, plan, kWorkspace);
  if (plan.others.empty()) throw std::runtime_error("cublasLt: no algorithm for a product");
  plan.algorithm = plan.others.front();
  plan.others.erase(plan.others.begin());
  // Algorithms without a workspace need no clearing, which costs as much as a small kernel.
  for (const auto& other : proposals(handle, plan, 0)) plan.others.push_back(other);
  return plan;
}

// Plans are never freed: there are only a few per model.
ProductPlan& plan_of(cublasLtHandle_t handle, const MatrixProduct& product) {
  static std::mutex mutex;
  static std::map<MatrixProduct, ProductPlan> plans;
  const std::lock_guard lock(mutex);
  const auto found = plans.find(product);
  if (found != plans.end()) return found->second;
  return plans.emplace(product, make_plan(handle, product)).first->second;
}

void* workspace() {
  thread_local const auto bytes = at::empty({static_cast<std::int64_t>(kWorkspace)},
                                            at::TensorOptions().dtype(at::kByte).device(at::kCUDA));
  return bytes.data_ptr();
}

// One product with all arguments, for any algorithm.
struct Call {
  cublasLtHandle_t handle;
  const ProductPlan& plan;
  const at::Tensor &a, &b, &d;
  float beta;

  cublasStatus_t operator()(const Algorithm& algorithm) const {
    const float alpha = 1;
    return cublasLtMatmul(handle, plan.description, &alpha, a.data_ptr(), plan.a, b.data_ptr(),
                          plan.b, &beta, d.data_ptr(), plan.d, d.data_ptr(), plan.d, &algorithm.how,
                          workspace(), algorithm.workspace, at::cuda::getCurrentCUDAStream());
  }
};

float milliseconds(const Call& call, const Algorithm& algorithm) {
  constexpr int kTimes = 10;
  at::cuda::CUDAEvent begin(cudaEventDefault), end(cudaEventDefault);
  call(algorithm);
  begin.record();
  for (int i = 0; i < kTimes; ++i) call(algorithm);
  end.record();
  end.synchronize();
  return begin.elapsed_time(end) / kTimes;
}

// The bits of a product's result, a number for each row. Undefined: the algorithm does not support
// it.
at::Tensor bits_of(const Call& call, const Algorithm& algorithm, const at::Tensor& kept) {
  if (kept.defined()) call.d.copy_(kept);
  if (call(algorithm) != CUBLAS_STATUS_SUCCESS) return {};
  const auto bits = call.d.view(call.d.element_size() == 4 ? at::kInt : at::kShort);
  std::vector<at::Tensor> sums;  // by groups of rows, to limit memory for the wider type
  for (const auto& rows : bits.split(std::max<std::int64_t>(1, kWidened / bits.size(1))))
    sums.push_back(at::sum(rows, {1}, false, at::kLong));
  return at::cat(sums);
}

// The fastest algorithm among those that give the same bits as the first: results do not depend on
// the machine's load during timing.
Algorithm fastest(const Call& call) {
  auto best = call.plan.algorithm;
  if (call.beta != 0 && call.d.nbytes() > kMostKept) return best;
  const auto kept = call.beta != 0 ? call.d.clone() : at::Tensor();
  const auto expected = bits_of(call, best, kept);
  auto least = milliseconds(call, best);
  for (const auto& other : call.plan.others) {
    const auto bits = bits_of(call, other, kept);
    if (!bits.defined() || !at::equal(bits, expected)) continue;
    const auto needed = milliseconds(call, other);
    if (needed >= least) continue;
    least = needed;
    best = other;
  }
  if (kept.defined()) call.d.copy_(kept);
  return best;
}

void multiply(const MatrixProduct& product, const at::Tensor& a, const at::Tensor& b,
              const at::Tensor& d, float beta, const at::Tensor& bias = {},
              const at::Tensor& auxiliary = {}) {
  const auto handle = at::cuda::getCurrentCUDABlasLtHandle();
  auto& plan = plan_of(handle, product);
  if (bias.defined()) set(plan.description, CUBLASLT_MATMUL_DESC_BIAS_POINTER, bias.data_ptr());
  if (auxiliary.defined())
    set(plan.description, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, auxiliary.data_ptr());
  const Call call{handle, plan, a, b, d, beta};
  if (!plan.others.empty()) {
    plan.algorithm = fastest(call);
    plan.others.clear();
  }
  check(call(plan.algorithm), "product");
}

bool is_ready(const at::Tensor& tensor) {
  return !tensor.defined() ||
         (tensor.is_contiguous() &&
          reinterpret_cast<std::uintptr_t>(tensor.data_ptr()) % kAlignment == 0);
}

}  // namespace

// Row-major gradient [out, in] is column-major [in, out] = x' [in, tokens] times dy [tokens, out].
void add_weight_gradient(const at::Tensor& gradient, const at::Tensor& dy, const at::Tensor& x,
                         bool is_first) {
  const MatrixProduct product{
      CUBLAS_OP_N, CUBLAS_OP_T, x.size(1),         dy.size(1),
      x.size(0),   type_of(x),  type_of(gradient), CUBLASLT_EPILOGUE_DEFAULT};
  multiply(product, x, dy, gradient, is_first ? 0 : 1);
}

bool products_work(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& other) {
  return x.is_cuda() && x.scalar_type() != at::kFloat && x.numel() > 0 && is_ready(x) &&
         is_ready(weight) && is_ready(other) && x.size(1) % 8 == 0 && weight.size(0) % 8 == 0 &&
         weight.size(1) % 8 == 0;
}

at::Tensor linear(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias) {
  const auto y = at::empty({x.size(0), weight.size(0)}, x.options());
  const MatrixProduct product{
      CUBLAS_OP_T,    CUBLAS_OP_N,
      weight.size(0), x.size(0),
      x.size(1),      type_of(x),
      type_of(x),     bias.defined() ? CUBLASLT_EPILOGUE_BIAS : CUBLASLT_EPILOGUE_DEFAULT};
  multiply(product, weight, x, y, 0, bias);
  return y;
}

ActivatedProduct linear_gelu(const at::Tensor& x, const at::Tensor& weight,
                             const at::Tensor& bias) {
  const auto tokens = x.size(0), width = weight.size(0);
  ActivatedProduct out{at::empty({tokens, width}, x.options()),
                       at::empty({tokens, width}, x.options())};
  const MatrixProduct product{
      CUBLAS_OP_T, CUBLAS_OP_N,
      width,       tokens,
      x.size(1),   type_of(x),
      type_of(x),  bias.defined() ? CUBLASLT_EPILOGUE_GELU_AUX_BIAS : CUBLASLT_EPILOGUE_GELU_AUX};
  multiply(product, weight, x, out.after, 0, bias, out.before);
  return out;
}

at::Tensor linear_backward(const at::Tensor& dy, const at::Tensor& weight,
                           const at::Tensor& before) {
  const auto dx = at::empty({dy.size(0), weight.size(1)}, dy.options());
  const MatrixProduct product{
      CUBLAS_OP_N,    CUBLAS_OP_N,
      weight.size(1), dy.size(0),
      dy.size(1),     type_of(dy),
      type_of(dy),    before.defined() ? CUBLASLT_EPILOGUE_DGELU : CUBLASLT_EPILOGUE_DEFAULT};
  multiply(product, weight, dy, dx, 0, {}, before);
  return dx;
}

}  // namespace orch::train::cuda
