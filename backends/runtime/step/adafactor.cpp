#include <ATen/ATen.h>

#include <cmath>

#include "backends/runtime/step/optimizers.h"

namespace orch::train {
namespace {

constexpr double kEpsilon =
    1e-30;  // epsilon_1 of the paper: keeps a row of zeros from dividing by 0

// The second moment of one parameter: the whole of it, or the means of its rows and columns.
struct Moment {
  at::Tensor whole;
  at::Tensor row, column;
};

// Shazeer & Stern 2018, algorithms 4 and 5; see optimizer.h for the variant.
class Adafactor final : public Optimizer {
 public:
  Adafactor(Parameters& parameters, const OptimizerOptions& options)
      : parameters_(parameters), weight_decay_(options.weight_decay) {
    for (const auto& parameter : parameters) {
      const auto sizes = parameter.weight.sizes();
      const auto like = parameter.weight.options().dtype(at::kFloat);
      Moment moment;
      if (sizes.size() < 2) {
        moment.whole = at::zeros(sizes, like);
      } else {
        moment.row = at::zeros({parameter.count / sizes.back()}, like);
        moment.column = at::zeros({sizes.back()}, like);
      }
      moments_.push_back(std::move(moment));
    }
  }

  void step(double learning_rate, double gradient_scale, std::int64_t step) override {
    const double rest = std::pow(static_cast<double>(step), -0.8);  // 1 - beta2
    for (std::size_t i = 0; i < parameters_.size(); ++i) {
      auto& parameter = parameters_[i];
      auto gradient = parameter.gradient.to(at::kFloat).mul(gradient_scale);
      auto update = moments_[i].whole.defined()
                        ? scaled_by_whole(std::move(gradient), moments_[i], rest)
                        : scaled_by_factors(std::move(gradient), moments_[i], rest);
      const auto rms = update.square().mean().sqrt();
      update.div_(rms.clamp_min(1));
      apply(parameter, update, learning_rate);
    }
  }

  std::vector<OptimizerState> states() override {
    std::vector<OptimizerState> states;
    for (std::size_t i = 0; i < moments_.size(); ++i) {
      if (moments_[i].whole.defined()) {
        states.push_back({"exp_avg_sq", i, moments_[i].whole});
      } else {
        states.push_back({"row", i, moments_[i].row, false});
        states.push_back({"column", i, moments_[i].column, false});
      }
    }
    return states;
  }

  std::int64_t state_bytes() const override {
    std::size_t bytes = 0;
    for (const auto& moment : moments_)
      bytes += moment.whole.defined() ? moment.whole.nbytes()
                                      : moment.row.nbytes() + moment.column.nbytes();
    return static_cast<std::int64_t>(bytes);
  }

 private:
  static at::Tensor scaled_by_whole(at::Tensor gradient, Moment& moment, double rest) {
    moment.whole.mul_(1 - rest).add_(gradient.square().add_(kEpsilon), rest);
    return gradient.mul_(moment.whole.rsqrt());
  }

  // The moment of element (i, j) is taken as row[i] * column[j] / mean(row).
  static at::Tensor scaled_by_factors(at::Tensor gradient, Moment& moment, double rest) {
    const auto sizes = gradient.sizes().vec();
    const auto matrix = gradient.view({-1, sizes.back()});
    const auto squares = matrix.square().add_(kEpsilon);
    moment.row.mul_(1 - rest).add_(squares.mean(1), rest);
    moment.column.mul_(1 - rest).add_(squares.mean(0), rest);
    matrix.mul_((moment.row / moment.row.mean()).rsqrt_().unsqueeze(1));
    matrix.mul_(moment.column.rsqrt().unsqueeze(0));
    return gradient;
  }

  void apply(Parameter& parameter, const at::Tensor& update, double learning_rate) const {
    const double decay = parameter.spec.decay ? weight_decay_ : 0;
    auto master = parameter.master.to(at::kFloat);  // itself where it is fp32
    master.mul_(1 - learning_rate * decay).sub_(update, learning_rate);
    if (!master.is_same(parameter.master)) parameter.master.copy_(master);
    if (parameters_.has_masters()) parameter.weight.copy_(master);
  }

  Parameters& parameters_;
  double weight_decay_;
  std::vector<Moment> moments_;
};

}  // namespace

std::unique_ptr<Optimizer> make_adafactor(Parameters& parameters, const OptimizerOptions& options) {
  return std::make_unique<Adafactor>(parameters, options);
}

}  // namespace orch::train
