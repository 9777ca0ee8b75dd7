#include "core/plan/families/families.h"

namespace orch::plan {

const Family& transformer_family() {
  static const Family kFamily{
      "transformer",
      "any dense model: every part can be chosen; families of your own are made of it",
      {said(Field::layers), said(Field::hidden), said(Field::heads), said(Field::vocab),
       said(Field::seq), follows(Field::kv_heads, all_heads),
       follows(Field::head_dim, divided_heads), usual(Field::rms_norm, false),
       usual(Field::swiglu, false),
       follows(Field::ffn_hidden,
               [](const Model& m) -> Value { return m.swiglu ? gated_width(m) : four_times(m); }),
       usual(Field::rope, false), usual(Field::alibi, false), usual(Field::embedding_norm, false),
       usual(Field::bias, false), usual(Field::qkv_bias, false), usual(Field::qk_norm, false),
       usual(Field::tied, false), usual(Field::norm_epsilon, 1e-5),
       usual(Field::rope_theta, 10'000.0)}};
  return kFamily;
}

}  // namespace orch::plan
