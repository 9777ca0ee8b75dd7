// A made-up family: like gpt, with rotary embeddings instead of learned positions, and a separate
// head by default. GPT-NeoX has such sizes.
#include "core/plan/families/families.h"

namespace orch::plan {

const Family& neo_family() {
  static const Family kFamily{
      "neo",
      "made up: rotated positions, layer norms, GELU, a bias everywhere",
      {said(Field::layers), said(Field::hidden), said(Field::heads), said(Field::vocab),
       said(Field::seq), fixed(Field::kv_heads, all_heads), fixed(Field::head_dim, divided_heads),
       fixed(Field::ffn_hidden, four_times), always(Field::rope), always(Field::bias),
       usual(Field::tied, false)}};
  return kFamily;
}

}  // namespace orch::plan
