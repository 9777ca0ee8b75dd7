#include "core/record/published/sizes.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/plan/family.h"
#include "core/record/published/framework.h"

namespace orch::published {
namespace {

using plan::Field, plan::Value;
using record::Record;

// bloom-7b1 and its family pad their vocabulary to this and have no position embedding.
constexpr std::int64_t kBloomVocab = 250880;

std::string family_of(const Record& row, const PublishedSizes& sizes,
                      std::vector<std::string>& assumed) {
  if (row.field("family")) return row.field_text("family");
  if (row.whole("experts").value_or(1) > 1) return "moe";
  if (sizes.vocab == kBloomVocab) return "bloom";
  if (row.whole("ffn_hidden").value_or(4 * sizes.hidden) != 4 * sizes.hidden) {
    assumed.emplace_back("family llama: the MLP is not four times as wide as the model");
    return "llama";
  }
  if (row.whole("kv_heads").value_or(sizes.heads) == sizes.heads) return "gpt";
  assumed.emplace_back("family nemotron: grouped queries and a plain MLP");
  return "nemotron";
}

// One of our families, with the options that describe the named one.
struct SizeKind {
  std::string_view family;
  bool rope = false, tied = false;
};

SizeKind kind_of(std::string_view name) {
  if (name == "mpt") return {"transformer", false, true};
  if (name == "nemotron") return {"transformer", true, false};
  return {name};
}

Value size_of(const Record& row, const PublishedSizes& sizes, const SizeKind& kind, Field field) {
  const bool own = kind.family == "transformer";
  const auto said = [&](std::string_view name) {
    const auto* held = row.field(name);
    return held != nullptr ? *held : Value();
  };
  switch (field) {
    case Field::layers:
      return sizes.layers;
    case Field::hidden:
      return sizes.hidden;
    case Field::heads:
      return sizes.heads;
    case Field::vocab:
      return sizes.vocab;
    case Field::seq:
      return sizes.seq;
    case Field::tied:
      return row.field("tied") || !own ? said("tied") : Value(kind.tied);
    case Field::rope:
      return row.field("rope") || !own ? said("rope") : Value(kind.rope);
    default:
      return said(plan::name(field));
  }
}

std::int64_t rounded(double value, std::int64_t step) {
  return step * std::max<std::int64_t>(1, std::llround(value / static_cast<double>(step)));
}

constexpr double kWidest = 1e7;  // limit for values computed from columns

template <class T>
T or_assume(const std::optional<T>& cell, T usual, const char* name,
            std::vector<std::string>& assumed) {
  if (cell) return *cell;
  assumed.push_back(fmt::format("{} {}", name, usual));
  return usual;
}

std::int64_t product(std::int64_t a, std::int64_t b, std::int64_t c) {
  // Each factor is within its column's limits, the product may overflow.
  const double real = static_cast<double>(a) * static_cast<double>(b) * static_cast<double>(c);
  return real < 9e18 ? a * b * c : -1;
}

// Layers and width: as stated, as the table's TFLOPs imply, or as usual for this number of
// parameters.
Result<PublishedSizes> layers_of(const Record& row, const PeerRows& peers, std::int64_t vocab,
                                 std::vector<std::string>& assumed) {
  const auto tp = row.whole("tensor_parallel"), pp = row.whole("pipeline_parallel");
  const auto layers = row.whole("layers"), hidden = row.whole("hidden");
  const auto params = row.field_number("params");
  const bool cut = !is_megatron(row) || (tp && pp);  // the layout is stated
  if (!layers && !hidden && params && cut) {
    const auto sizes = usual_sizes(*params, vocab, tp.value_or(1), pp.value_or(1));
    assumed.push_back(fmt::format("{} layers {} wide, as usual for {:g}B parameters", sizes.layers,
                                  sizes.hidden, *params / 1e9));
    return sizes;
  }
  if (!layers) return Error{"layers", "not given, and a model has no size without them", ""};
  if (hidden) return PublishedSizes{*layers, *hidden};
  const auto solved = peers.hidden(row);
  if (!solved)
    return Error{"hidden", "not given, and cannot be computed from TFLOPs and samples per second",
                 ""};
  if (*solved > kWidest)
    return Error{"hidden", "not given, and no model is as wide as TFLOPs and samples imply", ""};
  const auto found = usual_hidden(*solved, tp.value_or(1));
  assumed.push_back(fmt::format("hidden {}, from the table's TFLOPs", found));
  return PublishedSizes{*layers, found};
}

}  // namespace

plan::Model shaped(const Record& row, const PublishedSizes& sizes,
                   std::vector<std::string>& assumed) {
  const auto name = family_of(row, sizes, assumed);
  const auto kind = kind_of(name);
  const auto* family = plan::find_family(kind.family);
  if (!family) family = plan::find_family("gpt");  // an unknown family is reported elsewhere
  auto model =
      plan::complete(*family, [&](Field field) { return size_of(row, sizes, kind, field); });
  model.name = row.id;
  return model;
}

plan::Model shaped(const Record& row, const PublishedSizes& sizes) {
  std::vector<std::string> assumed;
  return shaped(row, sizes, assumed);
}

PublishedSizes usual_sizes(double params, std::int64_t vocab, std::int64_t tp, std::int64_t pp) {
  constexpr double kWide = 128;
  const auto words = static_cast<double>(vocab);
  double layers = std::cbrt(params / (12 * kWide * kWide));
  for (int turn = 0; turn < 8; ++turn) {  // embeddings take parameters from the layers: iterate
    const double left = std::max(params / 2, params - words * kWide * layers);
    layers = std::cbrt(left / (12 * kWide * kWide));
  }
  PublishedSizes sizes;
  sizes.vocab = vocab;
  sizes.hidden = rounded(kWide * layers, 128 * tp);
  const auto wide = static_cast<double>(sizes.hidden);
  sizes.layers = rounded(std::max(0.0, params - words * wide) / (12 * wide * wide), pp);
  return sizes;
}

Result<plan::Model> model_of(const Record& row, const PeerRows& peers,
                             std::vector<std::string>& assumed) {
  const auto seq = or_assume(row.whole("seq"), kUsualSeq, "seq", assumed);
  const auto vocab = or_assume(row.whole("vocab"), kUsualVocab, "vocab", assumed);
  auto sizes = layers_of(row, peers, vocab, assumed);
  if (!sizes) return sizes.error();
  sizes->seq = seq, sizes->vocab = vocab;
  const auto usual = usual_heads(sizes->hidden, row.whole("tensor_parallel").value_or(1));
  const auto heads = row.whole("heads");
  if (!heads && !usual)
    return Error{"heads",
                 fmt::format("not given, and hidden {} has no usual number", sizes->hidden), ""};
  sizes->heads = heads ? *heads : or_assume(heads, *usual, "heads", assumed);
  if (row.field("tied")) return shaped(row, *sizes, assumed);
  auto known = row;
  if (const auto tied = peers.tied(row)) known.set("tied", *tied);
  return shaped(known, *sizes, assumed);
}

static std::string axes(const plan::Layout& layout, std::int64_t gpus) {
  const auto context =
      layout.context_parallel > 1 ? fmt::format(" x cp {}", layout.context_parallel) : "";
  return fmt::format("dp {} x tp {} x pp {}{} is not {}", layout.data_parallel,
                     layout.tensor_parallel, layout.pipeline_parallel, context, gpus);
}

Result<plan::Layout> layout_of(const Record& row, std::vector<std::string>& assumed) {
  plan::Layout layout;
  const auto axis = [&](const char* field, const char* column) {
    const auto said = row.whole(field);
    return is_megatron(row) ? or_assume(said, std::int64_t{1}, column, assumed) : said.value_or(1);
  };
  layout.tensor_parallel = axis("tensor_parallel", "tp");
  layout.pipeline_parallel = axis("pipeline_parallel", "pp");
  layout.context_parallel = row.whole("context_parallel").value_or(1);
  const auto gpus = row.whole("gpus"), dp = row.whole("data_parallel");
  if (!gpus && !dp) return Error{"gpus", "not given, and neither is dp", ""};
  layout.data_parallel = dp ? *dp : std::max<std::int64_t>(1, *gpus / layout.copy());
  const auto ranks = product(layout.tensor_parallel * layout.context_parallel,
                             layout.pipeline_parallel, layout.data_parallel);
  if (gpus && ranks != *gpus) return Error{"gpus", axes(layout, *gpus), ""};
  if (ranks < 0 || ranks > 10'000'000)
    return Error{"gpus", "dp x tp x pp is more than any machine has", ""};
  return layout;
}

Result<plan::Batch> batch_of(const Record& row, const plan::Layout& layout,
                             std::vector<std::string>& assumed) {
  plan::Batch batch;
  batch.micro_batch = or_assume(row.whole("micro_batch"), std::int64_t{1}, "mbs", assumed);
  const auto shared = batch.micro_batch * layout.data_parallel;
  const auto global = row.whole("global_batch");
  auto steps = row.whole(row.field("accumulate") ? "accumulate" : "pp_chunks");
  if (!steps && global) steps = *global / shared;
  if (!steps) steps = row.whole("grad_accum");
  batch.accumulate = std::max<std::int64_t>(1, steps.value_or(1));
  batch.global_batch = product(batch.micro_batch, batch.accumulate, layout.data_parallel);
  const auto said = global.value_or(batch.global_batch);
  const auto missing = said - batch.global_batch;
  // 2048 samples on 6 ranks are 341 each: the remainder is dropped, as trainers do.
  if (batch.global_batch < 0 || missing < 0 || missing >= std::max<std::int64_t>(shared, 1) ||
      missing > said / 20)
    return Error{"gbs",
                 fmt::format("{} is not mbs {} x {} micro-batches x dp {}", said, batch.micro_batch,
                             batch.accumulate, layout.data_parallel),
                 ""};
  if (missing > 0) assumed.push_back(fmt::format("gbs {}, which divides", batch.global_batch));
  return batch;
}

}  // namespace orch::published
