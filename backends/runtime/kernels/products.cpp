#include <ATen/ATen.h>
#include <ATen/cuda/CUDAContext.h>
#include <cublasLt.h>

#include <map>
#include <mutex>
#include <stdexcept>
#include <string>
#include <tuple>

#include "backends/runtime/kernels/kernels.h"

// Products that ATen has no words for: 16-bit factors with an fp32 sum that is added to, and GELU
// in the epilogue. By cublasLt, with the algorithm of each shape looked up once.
namespace orch::train::cuda {
namespace {

constexpr std::size_t kWorkspace = 32 << 20;

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

// D = A' or A times B' or B, in cublasLt's column-major words.
struct Product {
  cublasOperation_t a_op, b_op;
  std::int64_t m, n, k;
  cudaDataType in, out;
  cublasLtEpilogue_t epilogue;

  auto key() const { return std::tuple(a_op, b_op, m, n, k, in, out, epilogue); }
  bool operator<(const Product& other) const { return key() < other.key(); }
};

struct Plan {
  cublasLtMatmulDesc_t description = nullptr;
  cublasLtMatrixLayout_t a = nullptr, b = nullptr, d = nullptr;
  cublasLtMatmulAlgo_t algorithm;
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

Plan make_plan(cublasLtHandle_t handle, const Product& product) {
  Plan plan;
  check(cublasLtMatmulDescCreate(&plan.description, CUBLAS_COMPUTE_32F, CUDA_R_32F), "description");
  set(plan.description, CUBLASLT_MATMUL_DESC_TRANSA, product.a_op);
  set(plan.description, CUBLASLT_MATMUL_DESC_TRANSB, product.b_op);
  set(plan.description, CUBLASLT_MATMUL_DESC_EPILOGUE, product.epilogue);
  if (product.epilogue != CUBLASLT_EPILOGUE_DEFAULT)
    set(plan.description, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, product.m);
  const auto a_rows = product.a_op == CUBLAS_OP_N ? product.m : product.k;
  const auto b_rows = product.b_op == CUBLAS_OP_N ? product.k : product.n;
  plan.a = layout(product.in, a_rows, product.m + product.k - a_rows);
  plan.b = layout(product.in, b_rows, product.k + product.n - b_rows);
  plan.d = layout(product.out, product.m, product.n);
  cublasLtMatmulPreference_t preference = nullptr;
  check(cublasLtMatmulPreferenceCreate(&preference), "preference");
  check(cublasLtMatmulPreferenceSetAttribute(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
                                             &kWorkspace, sizeof kWorkspace),
        "workspace");
  cublasLtMatmulHeuristicResult_t found = {};
  int count = 0;
  check(cublasLtMatmulAlgoGetHeuristic(handle, plan.description, plan.a, plan.b, plan.d, plan.d,
                                       preference, 1, &found, &count),
        "no algorithm");
  cublasLtMatmulPreferenceDestroy(preference);
  if (count == 0) throw std::runtime_error("cublasLt: no algorithm for a product");
  plan.algorithm = found.algo;
  return plan;
}

// Plans live as long as the program: there are a few per model.
Plan& plan_of(cublasLtHandle_t handle, const Product& product) {
  static std::mutex mutex;
  static std::map<Product, Plan> plans;
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

void multiply(const Product& product, const at::Tensor& a, const at::Tensor& b, const at::Tensor& d,
              float beta, const at::Tensor& bias = {}, const at::Tensor& auxiliary = {}) {
  const auto handle = at::cuda::getCurrentCUDABlasLtHandle();
  auto& plan = plan_of(handle, product);
  if (bias.defined()) set(plan.description, CUBLASLT_MATMUL_DESC_BIAS_POINTER, bias.data_ptr());
  if (auxiliary.defined())
    set(plan.description, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, auxiliary.data_ptr());
  const float alpha = 1;
  check(cublasLtMatmul(handle, plan.description, &alpha, a.data_ptr(), plan.a, b.data_ptr(), plan.b,
                       &beta, d.data_ptr(), plan.d, d.data_ptr(), plan.d, &plan.algorithm,
                       workspace(), kWorkspace, at::cuda::getCurrentCUDAStream()),
        "product");
}

}  // namespace

// Row-major gradient [out, in] is column-major [in, out] = x' [in, tokens] times dy [tokens, out].
void add_weight_gradient(const at::Tensor& gradient, const at::Tensor& dy, const at::Tensor& x) {
  const Product product{CUBLAS_OP_N, CUBLAS_OP_T, x.size(1),         dy.size(1),
                        x.size(0),   type_of(x),  type_of(gradient), CUBLASLT_EPILOGUE_DEFAULT};
  multiply(product, x, dy, gradient, 1);
}

Activated linear_gelu(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias) {
  const auto tokens = x.size(0), width = weight.size(0);
  Activated out{at::empty({tokens, width}, x.options()), at::empty({tokens, width}, x.options())};
  const Product product{CUBLAS_OP_T, CUBLAS_OP_N, width,      tokens,
                        x.size(1),   type_of(x),  type_of(x),
                        bias.defined() ? CUBLASLT_EPILOGUE_GELU_AUX_BIAS
                                       : CUBLASLT_EPILOGUE_GELU_AUX};
  multiply(product, weight, x, out.after, 0, bias, out.before);
  return out;
}

}  // namespace orch::train::cuda
