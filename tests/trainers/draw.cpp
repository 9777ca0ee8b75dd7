// Random models and layouts. Sizes are small and odd, so that few divisions are exact; a layout
// that orch refuses is drawn again.
#include "tests/trainers/draw.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace orch::test {
namespace {

constexpr std::int64_t kMostRanks = 8;

using Texts = std::vector<std::string>;
using DrawnNumbers = std::vector<std::int64_t>;

// The fields of a table in Lua.
class DrawTable {
 public:
  DrawTable& set(const char* name, const std::string& text) { return add(name, '"' + text + '"'); }
  DrawTable& set(const char* name, const char* text) { return set(name, std::string(text)); }
  DrawTable& set(const char* name, std::int64_t number) {
    return add(name, std::to_string(number));
  }
  DrawTable& set(const char* name, double number) { return add(name, fmt::format("{}", number)); }
  DrawTable& set(const char* name, bool flag) { return add(name, flag ? "true" : "false"); }
  std::string text() const { return fmt::format("{{ {} }}", fmt::join(fields_, ", ")); }

 private:
  DrawTable& add(const char* name, const std::string& value) {
    fields_.push_back(fmt::format("{} = {}", name, value));
    return *this;
  }
  Texts fields_;
};

// The parts of a custom family, whatever the named ones have.
void draw_parts(Draw& draw, DrawTable& model) {
  const auto positions = draw.one_of<std::string>({"rope", "alibi", ""});
  if (!positions.empty()) model.set(positions.c_str(), true);
  for (const auto* part : {"rms_norm", "swiglu", "embedding_norm", "tied", "qk_norm"})
    model.set(part, draw.percent(50));
}

std::string draw_model(Draw& draw, DrawnTraining& asked, bool& has_bias) {
  auto& family = asked.family;
  family =
      draw.one_of<std::string>({"gpt", "gpt", "bloom", "llama", "llama", "llama", "transformer"});
  const bool is_fixed = family == "gpt" || family == "bloom";
  const auto heads = draw.one_of<std::int64_t>({2, 3, 4, 4, 6, 6, 8});
  const auto width =
      draw.one_of<std::int64_t>(is_fixed ? DrawnNumbers{3, 5, 6, 8} : DrawnNumbers{4, 6, 8});
  asked.layers = draw.one_of<std::int64_t>({1, 2, 3, 4, 4, 5, 6, 8, 8});
  DrawTable model;
  model.set("layers", asked.layers).set("heads", heads);
  model.set("vocab", draw.one_of<std::int64_t>({50, 61, 97, 100, 131}));
  model.set("seq", draw.one_of<std::int64_t>({5, 8, 12, 13, 16}));
  model.set("hidden", heads * (is_fixed ? width : draw.one_of<std::int64_t>({4, 5, 6, 10})));
  has_bias = is_fixed;
  if (is_fixed) return family + model.text();
  model.set("head_dim", width).set("kv_heads", draw.divisor_of(heads));
  model.set("ffn_hidden", draw.one_of<std::int64_t>({21, 36, 36, 44, 60}));
  has_bias = draw.percent(40);
  model.set(family == "llama" || draw.percent(50) ? "qkv_bias" : "bias", has_bias);
  if (family == "llama")
    model.set("tied", draw.percent(40))
        .set("qk_norm", draw.percent(40))
        .set("rope_theta", std::int64_t{500});
  else
    draw_parts(draw, model);
  return family + model.text();
}

// The layers of each stage, some of them zero.
std::string draw_stages(Draw& draw, std::int64_t layers, std::int64_t stages) {
  DrawnNumbers counts(static_cast<std::size_t>(stages), 0);
  for (std::int64_t layer = 0; layer < layers; ++layer)
    ++counts[static_cast<std::size_t>(draw.below(stages))];
  return fmt::format("{}", fmt::join(counts, ","));
}

void draw_common(Draw& draw, const DrawnTraining& asked, DrawTable& settings) {
  settings.set("dtype", asked.dtype).set("optimizer", asked.optimizer);
  settings.set("flash_attention", draw.percent(20));
}

struct Axes {
  std::int64_t tensor = 1, pipeline = 1, data = 1;
  std::int64_t ranks() const { return tensor * pipeline * data; }
  std::string name(const std::string& strategy) const {
    return fmt::format("{} {}x{}x{}", strategy, tensor, pipeline, data);
  }
};

Axes draw_axes(Draw& draw, const DrawnTraining& asked, bool has_pipeline) {
  Axes axes;
  do {
    axes.tensor = draw.one_of<std::int64_t>({1, 1, 2, 2, 3, 4});
    axes.pipeline = has_pipeline ? draw.one_of<std::int64_t>({1, 2, 2, 3, 4}) : 1;
    axes.data = draw.divisor_of(asked.global_batch);
  } while (axes.ranks() > kMostRanks);
  return axes;
}

void draw_pipeline(Draw& draw, const DrawnTraining& asked, const Axes& axes, DrawTable& settings) {
  if (axes.pipeline == 1) return;
  const bool can_interleave = asked.layers % (2 * axes.pipeline) == 0;
  if (draw.percent(can_interleave ? 70 : 10)) {
    settings.set("interleave", draw.one_of<std::int64_t>({2, 2, 3}));
    return;
  }
  if (draw.percent(30))
    settings.set("stage_layers", draw_stages(draw, asked.layers, axes.pipeline));
  else if (draw.percent(50))
    settings.set("stage_partition", "transformer|embedding");
  else if (draw.percent(50))
    settings.set("partition_rule", "portions");
  settings.set("fill_bubbles", draw.percent(30));
}

DrawnLayout draw_megatron(Draw& draw, const DrawnTraining& asked) {
  const auto axes = draw_axes(draw, asked, true);
  DrawTable settings;
  settings.set("tensor_parallel", axes.tensor).set("pipeline_parallel", axes.pipeline);
  draw_pipeline(draw, asked, axes, settings);
  settings.set("sequence_parallel", axes.tensor > 1 && draw.percent(70));
  settings.set("recompute", draw.one_of<std::string>({"none", "full", "selective"}));
  settings.set("zero_stage", axes.data > 1 ? draw.below(2) : 0);
  settings.set("offload", draw.percent(25) ? "optimizer" : "none");
  settings.set("fp32_accumulate", asked.sums_wide() || (!asked.is_exact() && draw.percent(50)));
  settings.set("vocab_multiple", draw.one_of<std::int64_t>({1, 8, 40, 128}));
  settings.set("overlap_grad_reduce", draw.percent(50))
      .set("overlap_param_gather", draw.percent(50));
  draw_common(draw, asked, settings);
  return {axes.name("megatron"), "megatron" + settings.text(), axes.ranks(),
          draw.divisor_of(asked.global_batch / axes.data)};
}

DrawnLayout draw_shards(Draw& draw, const DrawnTraining& asked) {
  const auto name = draw.one_of<std::string>({"zero3", "fsdp", "deepspeed"});
  const auto axes = draw_axes(draw, asked, false);
  DrawTable settings;
  settings.set("tensor_parallel", axes.tensor);
  const auto stage = name == "deepspeed" ? 1 + draw.below(3) : 3;
  if (name == "deepspeed") settings.set("stage", stage);
  if (name == "fsdp") {
    const auto sharding = draw.one_of<std::string>({"full", "grad_op", "hybrid"});
    settings.set("sharding", sharding);
    if (sharding == "hybrid") settings.set("hybrid_shard_group", draw.divisor_of(axes.data));
  } else if (draw.percent(50)) {
    settings.set("offload", draw.one_of<std::string>({"optimizer", "full"}));
    if (asked.optimizer == "adamw")
      settings.set("offload_fraction", draw.one_of<double>({0.4, 0.5, 1.0}));
  }
  if (stage == 3) settings.set("prefetch", draw.below(4));
  const auto recompute = draw.one_of<std::string>({"none", "full", "selective"});
  settings.set("recompute", recompute)
      .set("offload_activations", recompute == "full" && draw.percent(50));
  settings.set("overlap", draw.percent(50));
  settings.set("reduce_dtype", asked.sums_wide() || draw.percent(50) ? "fp32" : "dtype");
  settings.set("tied_scatter", draw.percent(20) ? "twice" : "once");
  draw_common(draw, asked, settings);
  return {axes.name(name), name + settings.text(), axes.ranks(),
          draw.divisor_of(asked.global_batch / axes.data)};
}

DrawnLayout draw_ddp(Draw& draw, const DrawnTraining& asked) {
  Axes axes;
  do axes.data = draw.divisor_of(asked.global_batch);
  while (axes.ranks() > kMostRanks);
  DrawTable settings;
  settings.set("bucket_mb", draw.one_of<double>({0.001, 0.01, 25}));
  settings.set("overlap", draw.percent(50)).set("gradient_as_bucket_view", draw.percent(50));
  settings.set("recompute", draw.one_of<std::string>({"none", "full", "selective"}));
  draw_common(draw, asked, settings);
  return {axes.name("ddp"), "ddp" + settings.text(), axes.ranks(),
          draw.divisor_of(asked.global_batch / axes.data)};
}

}  // namespace

std::int64_t Draw::divisor_of(std::int64_t number) {
  DrawnNumbers divisors;
  for (std::int64_t each = 1; each <= number; ++each)
    if (number % each == 0) divisors.push_back(each);
  return one_of(divisors);
}

DrawnTraining draw_training(Draw& draw) {
  DrawnTraining asked;
  bool has_bias = false;
  asked.model = draw_model(draw, asked, has_bias);
  asked.global_batch = draw.one_of<std::int64_t>({4, 6, 8, 8, 12});
  asked.dtype = draw.one_of<std::string>({"fp32", "fp32", "fp32", "bf16", "fp16"});
  // A key's bias does not change scores: its gradient is noise, which Adafactor turns into whole
  // steps.
  asked.optimizer = !has_bias && draw.percent(30) ? "adafactor" : "adamw";
  DrawTable fields;
  fields.set("learning_rate", 1e-3)
      .set("min_learning_rate", 1e-4)
      .set("warmup_steps", std::int64_t{2});
  fields.set("epsilon", 1e-5).set("init_std", 0.1).set("seed", draw.below(1000));
  fields.set("clip", draw.one_of<double>({0.0, 0.3, 1.0}));
  fields.set("dropout", draw.percent(40) ? 0.1 : 0.0)
      .set("attention_dropout", draw.percent(30) ? 0.1 : 0.0);
  fields.set("checkpoint_every", std::int64_t{4}).set("evaluate_every", std::int64_t{3});
  fields.set("evaluate_batches", std::int64_t{2}).set("tensorboard", false);
  fields.set("loss_scale", draw.one_of<double>({1024, 0x1p24}))
      .set("collective_timeout", std::int64_t{120});
  asked.training = fields.text();
  return asked;
}

DrawnLayout draw_layout(Draw& draw, const DrawnTraining& asked) {
  const auto kind = draw.below(100);
  if (kind < 15) return draw_ddp(draw, asked);
  return kind < 65 ? draw_megatron(draw, asked) : draw_shards(draw, asked);
}

DrawnLayout single(Draw& draw, const DrawnTraining& asked) {
  DrawTable settings;
  settings.set("dtype", asked.dtype).set("optimizer", asked.optimizer);
  return {"one process", "ddp" + settings.text(), 1, draw.divisor_of(asked.global_batch)};
}

std::string lua(const DrawnTraining& asked, const DrawnLayout& layout) {
  return fmt::format(R"(return experiment {{
  name = "drawn",
  model = {},
  hardware = {{ cluster = "drawn", gpus = {} }},
  batch = {{ global_batch = {}, micro_batch = {} }},
  tokens = 1e6,
  steps = 6,
  training = {},
  strategies = {{ {} }},
}}
)",
                     asked.model, layout.ranks, asked.global_batch, layout.micro_batch,
                     asked.training, layout.strategy);
}

}  // namespace orch::test
