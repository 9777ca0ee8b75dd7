#include <ATen/ATen.h>

#include <cmath>

#include "backends/runtime/step/optimizer.h"

namespace orch::train {
namespace {

constexpr double kEpsilon =
    1e-30;  // epsilon_1 of the paper: avoids a division by 0 for a row of zeros

// The second moment of a parameter: one value per local element, or the means of the whole matrix's
// rows and columns, which every rank has.
struct SecondMoment {
  at::Tensor row, column;                  // for a matrix
  at::Tensor row_squares, column_squares;  // in this step: slices of one buffer
  std::int64_t rows = 0, columns = 0;      // without padding
};

// The part of a parameter that this rank updates.
struct FactoredPiece {
  std::size_t parameter;
  std::int64_t begin, end;  // elements in the rank's slice
  at::Tensor master, weight, gradient;
  at::Tensor elements;  // the moment, if the parameter is not a matrix
};

// The rows of the slice that contain the part, in the whole matrix.
struct FactoredRows {
  std::int64_t first_row, rows, first_column, columns,
      lead;  // lead: elements before the part in its first row
};

FactoredRows place_of(const FactoredPiece& part, const Parameter& parameter) {
  const auto columns = parameter.shape.back();
  const auto first = part.begin / columns, end = (part.end + columns - 1) / columns;
  return {parameter.offsets.front() + first, end - first, parameter.offsets.back(), columns,
          part.begin - first * columns};
}

// The part as a matrix of whole rows, with zeros outside the part.
at::Tensor whole_rows(const at::Tensor& flat, const FactoredRows& place) {
  if (flat.numel() == place.rows * place.columns) return flat.view({place.rows, place.columns});
  auto all = at::zeros({place.rows * place.columns}, flat.options());
  all.narrow(0, place.lead, flat.numel()).copy_(flat);
  return all.view({place.rows, place.columns});
}

// Shazeer & Stern 2018, algorithms 4 and 5; see optimizer.h for the variant.
class Adafactor final : public Optimizer {
 public:
  Adafactor(Parameters& parameters, const OptimizerOptions& options)
      : parameters_(parameters), options_(options) {
    const auto like =
        at::TensorOptions().dtype(at::kFloat).device(parameters.owned().front().master.device());
    make_moments(like);
    for (const auto& owned : parameters.owned())
      for (const auto& [parameter, begin, end, at] : owned.segments) {
        const auto count = end - begin;
        const auto part = [&, at = at](const at::Tensor& flat) {
          return flat.defined() ? flat.narrow(0, at, count) : flat;
        };
        parts_.push_back({parameter, begin, end, part(owned.master), part(owned.weight),
                          part(owned.gradient),
                          is_matrix(parameter) ? at::Tensor() : at::zeros({count}, like)});
      }
  }

  void step(double learning_rate, double gradient_scale, std::int64_t step) override {
    const double rest = std::pow(static_cast<double>(step), -0.8);  // 1 - beta2
    scale_ = gradient_scale;
    add_squares(rest);
    if (!options_.sum) {  // every part is a whole parameter
      for (auto& part : parts_) {
        const auto update = scaled(part);
        apply(part, update, update.square().sum(), learning_rate);
      }
      return;
    }
    // Computed twice rather than stored: the updates are as large as all parameters.
    const auto sums =
        at::zeros({static_cast<std::int64_t>(parameters_.size())}, squares_.options());
    const auto sum_of = [&](const FactoredPiece& part) {
      return sums[static_cast<std::int64_t>(part.parameter)];
    };
    for (const auto& part : parts_)
      if (counts(part)) sum_of(part).add_(scaled(part).square_().sum());
    options_.sum(sums);
    for (std::size_t i = 0; i < parameters_.size(); ++i)
      agree(i, sums.narrow(0, static_cast<std::int64_t>(i), 1));
    for (auto& part : parts_) apply(part, scaled(part), sum_of(part), learning_rate);
  }

  std::vector<OptimizerState> states() override {
    std::vector<OptimizerState> states;
    for (const auto& part : parts_)
      if (!is_matrix(part.parameter))
        states.push_back({"exp_avg_sq", part.parameter, part.elements, true, part.begin});
    for (std::size_t i = 0; i < moments_.size(); ++i) {
      if (!is_matrix(i)) continue;
      states.push_back({"row", i, moments_[i].row, false});
      states.push_back({"column", i, moments_[i].column, false});
    }
    return states;
  }

  std::int64_t state_bytes() const override {
    std::size_t bytes = 0;
    for (const auto& moment : moments_)
      if (moment.row.defined()) bytes += moment.row.nbytes() + moment.column.nbytes();
    for (const auto& part : parts_)
      if (part.elements.defined()) bytes += part.elements.nbytes();
    return static_cast<std::int64_t>(bytes);
  }
  std::int64_t host_state_bytes() const override {
    return parameters_.owned().front().on_host ? state_bytes() : 0;
  }

 private:
  bool is_matrix(std::size_t parameter) const { return parameters_[parameter].shape.size() > 1; }
  bool counts(const FactoredPiece& part) const {
    return !options_.counts || options_.counts(part.parameter);
  }

  void agree(std::size_t parameter, const at::Tensor& buffer) const {
    if (options_.agree) options_.agree(parameter, buffer);
  }

  void make_moments(const at::TensorOptions& like) {
    std::int64_t elements = 0;
    for (const auto& parameter : parameters_) {
      SecondMoment moment;
      const auto& shape = parameter.spec.shape;
      if (shape.size() > 1) {
        moment.rows = shape.front() - parameter.spec.padding;
        moment.columns = shape.back();
        moment.row = at::zeros({shape.front()}, like);
        moment.column = at::zeros({shape.back()}, like);
        elements += shape.front() + shape.back();
      }
      moments_.push_back(std::move(moment));
    }
    squares_ = at::zeros({elements}, like);
    std::int64_t at = 0;
    for (auto& moment : moments_) {
      if (!moment.row.defined()) continue;
      moment.row_squares = squares_.narrow(0, at, moment.row.numel());
      at += moment.row.numel();
      moment.column_squares = squares_.narrow(0, at, moment.column.numel());
      at += moment.column.numel();
    }
  }

  at::Tensor gradient_of(const FactoredPiece& part) const {
    return part.gradient.to(squares_.options()).mul(scale_);
  }

  // Adds this step's squares to the moments.
  void add_squares(double rest) {
    squares_.zero_();
    for (auto& part : parts_) {
      const auto squares = gradient_of(part).square_().add_(kEpsilon);
      if (part.elements.defined()) {
        part.elements.mul_(1 - rest).add_(squares, rest);
        continue;
      }
      if (!counts(part)) continue;
      const auto place = place_of(part, parameters_[part.parameter]);
      const auto matrix = whole_rows(squares, place);
      auto& moment = moments_[part.parameter];
      moment.row_squares.narrow(0, place.first_row, place.rows).add_(matrix.sum(1));
      moment.column_squares.narrow(0, place.first_column, place.columns).add_(matrix.sum(0));
    }
    if (options_.sum) options_.sum(squares_);
    for (std::size_t i = 0; i < moments_.size(); ++i) {
      auto& moment = moments_[i];
      if (!moment.row.defined()) continue;
      agree(i, moment.row_squares);
      agree(i, moment.column_squares);
      moment.row.mul_(1 - rest).add_(moment.row_squares,
                                     rest / static_cast<double>(moment.columns));
      moment.column.mul_(1 - rest).add_(moment.column_squares,
                                        rest / static_cast<double>(moment.rows));
    }
  }

  // The update before clipping. The moment of element (i, j) is row[i] * column[j] / mean(row).
  at::Tensor scaled(const FactoredPiece& part) const {
    auto gradient = gradient_of(part);
    if (part.elements.defined()) return gradient.mul_(part.elements.rsqrt());
    const auto place = place_of(part, parameters_[part.parameter]);
    const auto& moment = moments_[part.parameter];
    const auto mean = moment.row.narrow(0, 0, moment.rows).mean();
    const auto matrix = whole_rows(gradient, place);
    matrix.mul_((moment.row.narrow(0, place.first_row, place.rows) / mean).rsqrt_().unsqueeze(1));
    matrix.mul_(moment.column.narrow(0, place.first_column, place.columns).rsqrt().unsqueeze(0));
    return matrix.view({-1}).narrow(0, place.lead, gradient.numel());
  }

  // squares: their sum over the whole parameter's update.
  void apply(FactoredPiece& part, at::Tensor update, const at::Tensor& squares,
             double learning_rate) const {
    const auto& spec = parameters_[part.parameter].spec;
    std::int64_t count = 1;
    for (const auto size : spec.shape) count *= size;
    count -= spec.padding * spec.shape.back();
    update.div_(squares.div(static_cast<double>(count)).sqrt_().clamp_min_(1));
    const double decay = spec.decay ? options_.weight_decay : 0;
    auto master = part.master.to(at::kFloat);  // the tensor itself if it is fp32
    master.mul_(1 - learning_rate * decay).sub_(update, learning_rate);
    if (!master.is_same(part.master)) part.master.copy_(master);
    if (part.weight.defined()) part.weight.copy_(master);
  }

  Parameters& parameters_;
  const OptimizerOptions options_;
  std::vector<SecondMoment> moments_;
  std::vector<FactoredPiece> parts_;
  at::Tensor squares_;  // for rows and columns of all matrices
  double scale_ = 1;
};

}  // namespace

std::unique_ptr<Optimizer> make_adafactor(Parameters& parameters, const OptimizerOptions& options) {
  return std::make_unique<Adafactor>(parameters, options);
}

}  // namespace orch::train
