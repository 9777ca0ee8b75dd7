#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/base/result.h"
#include "core/plan/fields.h"
#include "core/plan/model.h"

namespace orch::plan {

// One size of a family's models.
struct FamilySize {
  using Follows = Value (*)(const Model&);  // from the sizes before it

  Field field;
  std::variant<Value, Follows> usual;  // where nobody says; no value: it must be said
  bool open = true;                    // false: all models of the family have the usual one

  bool must_be_said() const { return usual == std::variant<Value, Follows>(Value()); }
};

// A kind of transformer: which sizes its models have. Sizes that are not in the list are as in an
// empty Model. A family is one file of families/; whatever its models compute is composed from
// their sizes (model.h), so that planner, estimator, trainers, checkpoints and tables need no other
// word of it.
struct Family {
  std::string_view name;  // as it stands in Lua
  std::string_view doc;
  std::vector<FamilySize> sizes;  // in the order in which they follow from each other
  bool trains = true;             // false: our trainers cannot; planned and estimated only

  const FamilySize* find(Field field) const;
  std::vector<std::string> open_names() const;
};

std::span<const Family* const> families();
const Family* find_family(std::string_view name);
std::vector<std::string> family_names();
const Family& family_of(const Model& model);

// No value where it must be said.
Value usual_of(const Model& before, const FamilySize& size);

// A model of the family with what `given` says (a value that is not given leaves it open) and the
// usual sizes for the rest.
using GivenSize = std::function<Value(Field)>;
Model complete(const Family& family, const GivenSize& given);

// The five sizes that every family asks for, and the usual ones for the rest.
Model sized(std::string_view family, std::string name, std::int64_t layers, std::int64_t hidden,
            std::int64_t heads, std::int64_t vocab, std::int64_t seq);

Value get(const Model& model, Field field);
void set(Model& model, Field field, const Value& conformed);

// Whether documents have it; whether it is other than usual.
bool is_open(const Model& model, Field field);
bool is_unusual(const Model& model, Field field);
bool is_unusual(const Model& model, const FamilySize& size);

// What no strategy can compute, each with place, fact and fix.
void check_model(const Model& model, std::vector<Error>& reasons);

// For families' files.
inline FamilySize said(Field field) { return {field, Value()}; }
inline FamilySize usual(Field field, Value value) { return {field, std::move(value)}; }
inline FamilySize follows(Field field, FamilySize::Follows usual) { return {field, usual}; }
inline FamilySize fixed(Field field, FamilySize::Follows usual) { return {field, usual, false}; }
inline FamilySize always(Field field) { return {field, Value(true), false}; }

}  // namespace orch::plan
