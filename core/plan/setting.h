#pragma once

// The settings of a strategy as its backend declares them, once for both of its halves: constexpr
// objects with name, doc, default and limits, which can read their value from a run:
// settings.overlap(run).

#include <array>
#include <initializer_list>
#include <optional>
#include <string_view>
#include <type_traits>

#include "core/plan/param.h"

namespace orch::plan {

struct Bounds {
  double min = 0, max = 0;  // both 0: unbounded
};
// A setting that belongs to one choice of another one.
struct ParentChoice {
  std::string_view of, choice;
};

// T: bool, std::int64_t, double or, for strings and choices, std::string_view.
template <class T>
struct DeclaredSetting {
  std::string_view name, doc;
  std::optional<T> default_value = {};  // none: the user must give one
  Bounds bounds = {};
  ParentChoice parent = {};
  std::array<std::string_view, 5> choices = {};
  std::size_t n_choices = 0;

  operator Param() const {
    constexpr bool is_text = std::is_same_v<T, std::string_view>;
    Param param{std::string(name), std::string(doc)};
    param.type = is_text                   ? n_choices > 0 ? ParamType::choice : ParamType::text
                 : std::is_same_v<T, bool> ? ParamType::boolean
                 : std::is_same_v<T, std::int64_t> ? ParamType::integer
                                                   : ParamType::real;
    if (default_value)
      param.default_value = std::conditional_t<is_text, std::string, T>(*default_value);
    param.choices.assign(choices.begin(), choices.begin() + n_choices);
    param.min = bounds.min, param.max = bounds.max;
    param.parent = parent.of, param.choice = parent.choice;
    return param;
  }

  // Throws where a trainer's run has no such value. Run is the run as either half of the backend
  // sees it.
  template <class Run>
  auto operator()(const Run& run) const {
    return value_of(run, *this);
  }
  // The default if a trainer's run is older than this setting.
  template <class Run>
  auto or_default(const Run& run) const {
    if constexpr (requires { run.setting(name); })
      if (!is_given(run.setting(name))) return decltype(value_of(run, *this))(*default_value);
    return value_of(run, *this);
  }
};

using Flag = DeclaredSetting<bool>;
using Integer = DeclaredSetting<std::int64_t>;
using Real = DeclaredSetting<double>;
using TextSetting = DeclaredSetting<std::string_view>;

// The first one is the default.
struct ChoiceSetting : TextSetting {
  constexpr ChoiceSetting(std::string_view called, std::string_view means,
                          std::initializer_list<std::string_view> all)
      : TextSetting{called, means, *all.begin()} {
    std::copy(all.begin(), all.end(), choices.begin());
    n_choices = all.size();
  }
};

inline constexpr Bounds kManyRanks{1, 65536};

// Settings of more than one backend.
struct CommonSettings {
  Integer tensor_parallel{"tensor_parallel", "ranks that share each layer", 1, kManyRanks};
  Integer context_parallel{"context_parallel",
                           "ranks that share each sample (planned, not trained here)", 1,
                           kManyRanks};
  ChoiceSetting recompute{"recompute",
                          "what the backward pass recomputes instead of storing it",
                          {"none", "full", "selective"}};
  ChoiceSetting dtype{
      "dtype",
      "of weights and activations; fp8, or another that the GPU has a peak of: what products read "
      "(planned, not trained here)",
      {"bf16", "fp16", "fp32", "tf32", "fp8"}};
  ChoiceSetting optimizer{"optimizer",
                          "adamw stores two moments, adafactor the means of their rows and columns",
                          {"adamw", "adafactor"}};
  Flag flash_attention{
      "flash_attention",
      "attention that does not store the scores; by default true in 16 bits on GPUs since 2020",
      false};
  Flag fused_kernels{"fused_kernels", "softmax with mask and scale in one kernel", false};
  // Our own trainers always fuse it.
  ChoiceSetting cross_entropy{
      "cross_entropy",
      "of a framework, for the estimate: plain holds logits and gradients in fp32 as well, "
      "fused makes the gradient in the logits' place",
      {"plain", "fused"}};
  Flag offload_activations{"offload_activations",
                           "keep the inputs for recomputation in host memory", false};
};
// Hidden: plug-ins of different versions must not share it.
[[gnu::visibility("hidden")]] inline constexpr CommonSettings common_settings;

}  // namespace orch::plan
