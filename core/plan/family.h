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
  using Follows = Value (*)(const Model&);  // computed from the sizes before it

  Field field;
  std::variant<Value, Follows> usual;  // the default; no value: the size must be given
  bool open = true;                    // false: fixed at the usual value

  bool must_be_said() const { return usual == std::variant<Value, Follows>(Value()); }
};

// A kind of transformer: which sizes its models have. Sizes that are not in the list are as in an
// empty Model. A family is one file of families/; everything about its models is computed from
// their sizes (model.h), so that planner, estimator, trainers, checkpoints and tables need no code
// per family.
struct Family {
  std::string_view name;  // its name in Lua
  std::string_view doc;
  std::vector<FamilySize> sizes;  // each may follow from those before it
  bool trains = true;             // false: planned and estimated only, not trained

  const FamilySize* find(Field field) const;
  std::vector<std::string> open_names() const;
};

std::span<const Family* const> families();
const Family* find_family(std::string_view name);
std::vector<std::string> family_names();
const Family& family_of(const Model& model);

// The default of a size; no value where it must be given.
Value usual_of(const Model& before, const FamilySize& size);

// Makes a model of the family: `given` returns the sizes that are given (no value leaves one open),
// the others get their usual values.
using GivenSize = std::function<Value(Field)>;
Model complete(const Family& family, const GivenSize& given);

// A model from the five sizes that every family needs, with usual values for the rest.
Model sized(std::string_view family, std::string name, std::int64_t layers, std::int64_t hidden,
            std::int64_t heads, std::int64_t vocab, std::int64_t seq);

Value get(const Model& model, Field field);
void set(Model& model, Field field, const Value& conformed);

// is_open: the size is not fixed by the family and is written to documents. is_unusual: it differs
// from the usual value.
bool is_open(const Model& model, Field field);
bool is_unusual(const Model& model, Field field);
bool is_unusual(const Model& model, const FamilySize& size);

// Adds the problems for which no strategy can compute the model.
void check_model(const Model& model, std::vector<Error>& reasons);

// Shorthands for families' files.
inline FamilySize said(Field field) { return {field, Value()}; }
inline FamilySize usual(Field field, Value value) { return {field, std::move(value)}; }
inline FamilySize follows(Field field, FamilySize::Follows usual) { return {field, usual}; }
inline FamilySize fixed(Field field, FamilySize::Follows usual) { return {field, usual, false}; }
inline FamilySize always(Field field) { return {field, Value(true), false}; }

}  // namespace orch::plan
