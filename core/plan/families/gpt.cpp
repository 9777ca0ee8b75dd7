#include "core/plan/families/families.h"

namespace orch::plan {

const Family& gpt_family() {
  static const Family kFamily{
      "gpt",
      "GPT-2 and GPT-3: learned positions, layer norms, GELU, biases everywhere, tied embeddings",
      {said(Field::layers), said(Field::hidden), said(Field::heads), said(Field::vocab),
       said(Field::seq), fixed(Field::kv_heads, all_heads), fixed(Field::head_dim, divided_heads),
       fixed(Field::ffn_hidden, four_times), always(Field::bias), always(Field::tied)}};
  return kFamily;
}

}  // namespace orch::plan
