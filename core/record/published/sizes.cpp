#include "core/record/published/sizes.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/record/published/framework.h"
#include "core/record/published/kind.h"

namespace orch::published {
namespace {

using record::Record;

constexpr double kWidest = 1e7;  // what a column may say

template <class T>
T or_assume(const std::optional<T>& cell, T usual, const char* name,
            std::vector<std::string>& assumed) {
  if (cell) return *cell;
  assumed.push_back(fmt::format("{} {}", name, usual));
  return usual;
}

std::int64_t product(std::int64_t a, std::int64_t b, std::int64_t c) {
  // Each is within its column's limits, the product need not be.
  const double real = static_cast<double>(a) * static_cast<double>(b) * static_cast<double>(c);
  return real < 9e18 ? a * b * c : -1;
}

// Layers and width: as said, as the table's TFLOPs imply, or as usual for so many parameters.
Result<Sizes> layers_of(const Record& row, const Peers& peers, std::int64_t vocab,
                        std::vector<std::string>& assumed) {
  const auto tp = row.whole("tensor_parallel"), pp = row.whole("pipeline_parallel");
  const auto layers = row.whole("layers"), hidden = row.whole("hidden");
  const auto params = row.field_number("params");
  const bool cut = !is_megatron(row) || (tp && pp);  // how is said
  if (!layers && !hidden && params && cut) {
    const auto sizes = usual_sizes(*params, vocab, tp.value_or(1), pp.value_or(1));
    assumed.push_back(fmt::format("{} layers {} wide, as usual for {:g}B parameters", sizes.layers,
                                  sizes.hidden, *params / 1e9));
    return sizes;
  }
  if (!layers) return Error{"layers", "not said, and a model has no size without them", ""};
  if (hidden) return Sizes{*layers, *hidden};
  const auto solved = peers.hidden(row);
  if (!solved)
    return Error{"hidden", "not said, nor do TFLOPs and samples per second give it away", ""};
  if (*solved > kWidest)
    return Error{"hidden", "not said, and no model is as wide as TFLOPs and samples imply", ""};
  const auto found = usual_hidden(*solved, tp.value_or(1));
  assumed.push_back(fmt::format("hidden {}, from the table's TFLOPs", found));
  return Sizes{*layers, found};
}

}  // namespace

Result<plan::Model> model_of(const Record& row, const Peers& peers,
                             std::vector<std::string>& assumed) {
  const auto seq = or_assume(row.whole("seq"), kUsualSeq, "seq", assumed);
  const auto vocab = or_assume(row.whole("vocab"), kUsualVocab, "vocab", assumed);
  auto sizes = layers_of(row, peers, vocab, assumed);
  if (!sizes) return sizes.error();
  sizes->seq = seq, sizes->vocab = vocab;
  const auto usual = usual_heads(sizes->hidden, row.whole("tensor_parallel").value_or(1));
  const auto heads = row.whole("heads");
  if (!heads && !usual)
    return Error{"heads", fmt::format("not said, and hidden {} has no usual number", sizes->hidden),
                 ""};
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
  if (!gpus && !dp) return Error{"gpus", "not said, and neither is dp", ""};
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
  // 2048 samples on 6 ranks are 341 each: what does not divide is left out, as the trainers do.
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
