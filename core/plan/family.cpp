#include "core/plan/family.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "core/base/multiples.h"
#include "core/base/text.h"
#include "core/base/units.h"
#include "core/plan/families/families.h"

namespace orch::plan {
namespace {

const SizeInfo& info_of(Field field) {
  return kSizes[static_cast<std::size_t>(field) - static_cast<std::size_t>(Field::layers)];
}

}  // namespace

Value usual_of(const Model& model, const FamilySize& size) {
  const auto* follows = std::get_if<FamilySize::Follows>(&size.usual);
  return follows ? (*follows)(model) : std::get<Value>(size.usual);
}

const FamilySize* Family::find(Field field) const {
  const auto found = std::find_if(sizes.begin(), sizes.end(),
                                  [&](const FamilySize& size) { return size.field == field; });
  return found == sizes.end() ? nullptr : &*found;
}

std::vector<std::string> Family::open_names() const {
  std::vector<std::string> names;
  for (const auto& size : sizes)
    if (size.open) names.emplace_back(plan::name(size.field));
  return names;
}

std::span<const Family* const> families() {
  static const std::array kAll{&gpt_family(), &bloom_family(), &llama_family(), &moe_family(),
                               &transformer_family()};
  return kAll;
}

const Family* find_family(std::string_view name) {
  for (const auto* family : families())
    if (family->name == name) return family;
  return nullptr;
}

std::vector<std::string> family_names() { return all_names(families()); }

const Family& family_of(const Model& model) {
  const auto* family = find_family(model.family);
  ORCH_CHECK(family, "a model is of a known family");
  return *family;
}

Model complete(const Family& family, const GivenSize& given) {
  Model model;
  model.family = family.name;
  for (const auto& size : family.sizes) {
    auto value = size.open ? given(size.field) : Value();
    if (!is_given(value)) value = usual_of(model, size);
    if (is_given(value)) set(model, size.field, value);
  }
  return model;
}

Model sized(std::string_view family, std::string name, std::int64_t layers, std::int64_t hidden,
            std::int64_t heads, std::int64_t vocab, std::int64_t seq) {
  const auto* found = find_family(family);
  ORCH_CHECK(found, "a model is of a known family");
  const std::array sizes{layers, hidden, heads, vocab, seq};
  auto model = complete(*found, [&](Field field) -> Value {
    const auto at = static_cast<std::size_t>(field) - static_cast<std::size_t>(Field::layers);
    return at < sizes.size() ? Value(sizes[at]) : Value();
  });
  model.name = std::move(name);
  return model;
}

Value get(const Model& model, Field field) {
  return std::visit([&](auto at) { return Value(model.*at); }, info_of(field).at);
}

void set(Model& model, Field field, const Value& conformed) {
  std::visit(
      [&](auto at) {
        auto& held = model.*at;
        held = std::get<std::decay_t<decltype(held)>>(conformed);
      },
      info_of(field).at);
}

bool is_open(const Model& model, Field field) {
  const auto* size = family_of(model).find(field);
  return size && size->open;
}

bool is_unusual(const Model& model, Field field) {
  const auto* size = family_of(model).find(field);
  return size && is_unusual(model, *size);
}

bool is_unusual(const Model& model, const FamilySize& size) {
  return size.open && get(model, size.field) != usual_of(model, size);
}

namespace {

void check_heads(const Model& model, std::vector<Error>& reasons) {
  const auto* head_dim = family_of(model).find(Field::head_dim);
  const bool divides = model.hidden % model.heads == 0;
  if (!divides && (!head_dim->open || !is_unusual(model, Field::head_dim)))
    reasons.push_back(
        {"heads", fmt::format("hidden {} does not divide into {} heads", model.hidden, model.heads),
         fmt::format("use {} heads, or hidden = {}", divisor_below(model.hidden, model.heads),
                     (model.hidden / model.heads + 1) * model.heads)});
  if (model.heads % model.kv_heads != 0)
    reasons.push_back(
        {"kv_heads",
         fmt::format("{} heads do not share {} heads of keys and values evenly", model.heads,
                     model.kv_heads),
         fmt::format("try kv_heads = {}", divisor_below(model.heads, model.kv_heads))});
  const auto rotated = model.latent() ? model.rope_dim : model.head_dim;
  if (model.rope && rotated % 2 != 0)
    reasons.push_back(
        {"head_dim", fmt::format("rotary embeddings need an even head_dim, not {}", rotated),
         fmt::format("try {} = {}", model.latent() ? "rope_dim" : "head_dim", rotated + 1)});
  if (model.rope && model.alibi)
    reasons.push_back({"alibi", "rope and alibi are both set", "choose one of them"});
}

void check_latent(const Model& model, std::vector<Error>& reasons) {
  if (!model.latent() && (model.q_rank > 0 || model.rope_dim > 0))
    reasons.push_back({"kv_rank", "q_rank and rope_dim are of latent attention, and kv_rank is 0",
                       "set kv_rank, or neither of them"});
  if (model.latent() && (model.rope_dim == 0 || model.value_dim == 0))
    reasons.push_back({"kv_rank", "latent attention needs rope_dim and value_dim", "set both"});
  if (model.rope_factor != 1 && model.rope_low >= model.rope_high)
    reasons.push_back(
        {"rope_low", fmt::format("{} is not below rope_high = {}", model.rope_low, model.rope_high),
         "try rope_low = 1 and rope_high = 4"});
}

void check_experts(const Model& model, std::vector<Error>& reasons) {
  if (!family_of(model).find(Field::experts)) return;
  if (model.experts < 1 || model.experts_per_token < 1 || model.expert_hidden < 1)
    reasons.push_back({"experts",
                       fmt::format("{} experts of width {}, {} for a token", model.experts,
                                   model.expert_hidden, model.experts_per_token),
                       "each is at least 1; for a dense model write llama{ ... }"});
  if (model.experts_per_token > model.experts)
    reasons.push_back({"experts_per_token",
                       fmt::format("{} of {} experts", model.experts_per_token, model.experts),
                       fmt::format("at most {}", model.experts)});
  if (model.dense_layers > model.layers)
    reasons.push_back({"dense_layers",
                       fmt::format("{} of {} layers", model.dense_layers, model.layers),
                       fmt::format("at most {}", model.layers)});
}

}  // namespace

void check_model(const Model& model, std::vector<Error>& reasons) {
  check_heads(model, reasons);
  check_latent(model, reasons);
  check_experts(model, reasons);
  if (model.params() > 1e15)
    reasons.push_back({"model", fmt::format("{} parameters", format_number(model.params())),
                       "check layers and hidden"});
}

}  // namespace orch::plan
