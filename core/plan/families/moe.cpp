#include "core/plan/families/families.h"

namespace orch::plan {

const Family& moe_family() {
  static const Family kFamily{
      "moe",
      "Mixtral, Qwen3-MoE, DeepSeek-V3: as llama, with a mixture of experts",
      {said(Field::layers),
       said(Field::hidden),
       said(Field::heads),
       said(Field::vocab),
       said(Field::seq),
       said(Field::experts),
       said(Field::experts_per_token),
       follows(Field::kv_heads, all_heads),
       follows(Field::head_dim, divided_heads),
       follows(Field::ffn_hidden, gated_width),
       follows(Field::expert_hidden, [](const Model& m) -> Value { return m.ffn_hidden; }),
       usual(Field::shared_experts, std::int64_t{0}),
       usual(Field::dense_layers, std::int64_t{0}),
       usual(Field::router_bias, false),
       usual(Field::kv_rank, std::int64_t{0}),
       usual(Field::q_rank, std::int64_t{0}),
       usual(Field::rope_dim, std::int64_t{0}),
       follows(Field::value_dim, [](const Model& m) -> Value { return m.head_dim; }),
       usual(Field::rms_norm, true),
       usual(Field::swiglu, true),
       usual(Field::rope, true),
       usual(Field::bias, false),
       usual(Field::qkv_bias, false),
       usual(Field::qk_norm, false),
       usual(Field::tied, false),
       usual(Field::rope_theta, 10'000.0)},
      false};
  return kFamily;
}

}  // namespace orch::plan
