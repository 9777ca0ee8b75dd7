#include "core/record/published/kind.h"

#include <algorithm>
#include <cmath>

#include "core/plan/family.h"

namespace orch::published {
namespace {

using record::Record;
using plan::Field, plan::Value;

// bloom-7b1 and its family pad their vocabulary to this and have no position embedding.
constexpr std::int64_t kBloomVocab = 250880;

std::string family_of(const Record& row, const Sizes& sizes, std::vector<std::string>& assumed) {
  if (row.field("family")) return row.field_text("family");
  if (sizes.vocab == kBloomVocab) return "bloom";
  if (row.whole("ffn_hidden").value_or(4 * sizes.hidden) != 4 * sizes.hidden) {
    assumed.emplace_back("family llama: the MLP is not four times as wide as the model");
    return "llama";
  }
  if (row.whole("kv_heads").value_or(sizes.heads) == sizes.heads) return "gpt";
  assumed.emplace_back("family nemotron: grouped queries and a plain MLP");
  return "nemotron";
}

// In our own words: a family of ours, and the flags that make another one of it.
struct Kind {
  std::string_view family;
  bool rope = false, tied = false;
};

Kind kind_of(std::string_view name) {
  if (name == "mpt") return {"transformer", false, true};
  if (name == "nemotron") return {"transformer", true, false};
  return {name};
}

Value size_of(const Record& row, const Sizes& sizes, const Kind& kind, Field field) {
  const bool own = kind.family == "transformer";
  const auto said = [&](const char* name) {
    const auto* held = row.field(name);
    return held != nullptr ? *held : Value();
  };
  switch (field) {
    case Field::layers: return sizes.layers;
    case Field::hidden: return sizes.hidden;
    case Field::heads: return sizes.heads;
    case Field::vocab: return sizes.vocab;
    case Field::seq: return sizes.seq;
    case Field::kv_heads: return said("kv_heads");
    case Field::ffn_hidden: return said("ffn_hidden");
    case Field::tied: return row.field("tied") || !own ? said("tied") : Value(kind.tied);
    case Field::rope: return own ? Value(kind.rope) : Value();
    default: return {};
  }
}

std::int64_t rounded(double value, std::int64_t step) {
  return step * std::max<std::int64_t>(1, std::llround(value / static_cast<double>(step)));
}

}  // namespace

plan::Model shaped(const Record& row, const Sizes& sizes, std::vector<std::string>& assumed) {
  const auto name = family_of(row, sizes, assumed);
  const auto kind = kind_of(name);
  const auto* family = plan::find_family(kind.family);
  if (!family) family = plan::find_family("gpt");  // a word that is none is told elsewhere
  auto model = plan::complete(*family, [&](Field field) {
    return size_of(row, sizes, kind, field);
  });
  model.name = row.id;
  return model;
}

plan::Model shaped(const Record& row, const Sizes& sizes) {
  std::vector<std::string> assumed;
  return shaped(row, sizes, assumed);
}

Sizes usual_sizes(double params, std::int64_t vocab, std::int64_t tp, std::int64_t pp) {
  constexpr double kWide = 128;
  const auto words = static_cast<double>(vocab);
  double layers = std::cbrt(params / (12 * kWide * kWide));
  for (int turn = 0; turn < 8; ++turn) {  // what the words take is not in the layers
    const double left = std::max(params / 2, params - words * kWide * layers);
    layers = std::cbrt(left / (12 * kWide * kWide));
  }
  Sizes sizes;
  sizes.vocab = vocab;
  sizes.hidden = rounded(kWide * layers, 128 * tp);
  const auto wide = static_cast<double>(sizes.hidden);
  sizes.layers = rounded(std::max(0.0, params - words * wide) / (12 * wide * wide), pp);
  return sizes;
}

}  // namespace orch::published
