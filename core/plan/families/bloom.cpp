#include "core/plan/families/families.h"

namespace orch::plan {

const Family& bloom_family() {
  static const Family kFamily{
      "bloom",
      "BLOOM: as gpt, with ALiBi instead of positions and a norm after the embedding",
      {said(Field::layers), said(Field::hidden), said(Field::heads), said(Field::vocab),
       said(Field::seq), fixed(Field::kv_heads, all_heads), fixed(Field::head_dim, divided_heads),
       fixed(Field::ffn_hidden, four_times), always(Field::alibi), always(Field::embedding_norm),
       always(Field::bias), always(Field::tied)}};
  return kFamily;
}

}  // namespace orch::plan
